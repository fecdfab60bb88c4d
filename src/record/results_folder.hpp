// A results folder that was written earlier, possibly by another machine or a broken disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/result.hpp"

namespace headroom::record {

struct ResultsFolder {
  std::filesystem::path path;
  nlohmann::ordered_json environment;  ///< an object of schema `headroom.environment/1`
  std::vector<CellResult> results;     ///< as the lines stand, each cell once
  std::vector<std::string> lines;      ///< those of `results`, without newline, as they stand
  std::vector<std::string> notes;      ///< such as a torn last line that was dropped
  std::int64_t intact_bytes = 0;       ///< of `results.jsonl`, up to the last whole line
};

enum class Empty { refuse, accept };

/// Reads `environment.json` and `results.jsonl`. `Cell::order` is filled in as the sweep that wrote
/// them had it. Of a cell that stands there twice the later line counts, with a note.
/// @param empty whether a folder without one finished cell is an error; only a sweep that is to be
///        continued has a use for it.
/// @throws FileError with the path, the line and the byte where it went wrong.
ResultsFolder read_results_folder(const std::filesystem::path& path, Empty empty = Empty::refuse);

/// The lines stand as the cells finished; these stand shape by shape, in the order of the axes.
std::vector<const CellResult*> in_order(const ResultsFolder& folder);

}  // namespace headroom::record
