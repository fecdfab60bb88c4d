// Names of cells, shapes and figures, the same everywhere in a report.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/findings/split_gains.hpp"
#include "report/words/prose.hpp"
#include "show/shares.hpp"

namespace headroom::report {

/// A ratio to three digits, such as `"2.31 ×"`.
std::string times(double ratio);

/// Such as `"2.2 to 2.4"`, each to three digits.
std::string range(const statistics::Interval& interval);

/// Backend and formulation, such as `"tbb/split"`.
std::string name_of(const record::CellResult& result);

/// Such as `"88 of 2048 rows"`; empty if all rows were checked, or none.
std::string rows_checked(const record::CellResult& result);

/// Such as `"1 token after 4096, width 6144"`; fewer key heads, a window, a batch above 1 and an
/// unusual input width follow.
std::string name_of(const Case& shape);

/// Such as `"96 heads, 1 token after 4096, width 6144"`.
std::string name_with_heads(const Case& shape);

/// Such as `"16 tokens, width 768"`, or `"16 tokens, heads of 64"`.
std::string name_of(const SplitGains& series);

/// With its heads, with what it must be as exact as where that is not f32, and with what its
/// weights are stored as where that is not the dtype.
std::string name_of(const ShapeFindings& shape);

/// Names set as code, joined by commas and a last `and`.
Prose listed(const std::vector<std::string>& names, Piece (*mark)(std::string) = code);

void append(Prose& prose, Prose more);

/// Any value: text without quotes, a list with commas, the fields of an object with semicolons.
/// @param otherwise for null
std::string in_words(const nlohmann::ordered_json& value, const char* otherwise = "");

/// The share of its limit that a cell reaches, and which limit that is.
struct Share {
  double value = 0;
  bool of_memory = false;               ///< of the read bandwidth, else of `arithmetic_words`
  bool of_working_set = false;          ///< of the bandwidth at the cell's own working set
  std::optional<double> of_tiles = {};  ///< beside that of multiply-adds, where it is known
  Precision precision = Precision::f32;
  show::Limit limit = show::Limit::memory;  ///< how it was measured
};

/// `"multiply-adds"`, or such as `"products of bf16"`.
std::string arithmetic_words(const Share& share);

/// Empty where no limit was measured.
std::optional<Share> share_of_limit(const record::ResultsFolder& folder,
                                    const record::CellResult& result, const record::Peaks& roofs);

/// Such as `"83 % of multiply-adds, 91 % of tiles"`, with marks where it is more than 100 %.
std::string limit_words(const Share& share, show::Shares& shares);

/// The threads of a cell, such as `"2"`, or `"2 (as 1.1 cores)"` where the cores were fewer.
std::string threads_words(const record::CellResult& result, const record::Peaks& roofs);

/// The 95 % interval of such a share.
statistics::Interval share_ci95(const Share& share, const record::CellResult& result);

}  // namespace headroom::report
