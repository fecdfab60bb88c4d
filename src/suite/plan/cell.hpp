// What is to be measured: shape x formulation x backend x numbers x ranks x threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/attention.hpp"
#include "headroom/unit.hpp"
#include "headroom/weights.hpp"

namespace headroom::plan {

/// The most processes among which the heads of a layer may be divided.
inline constexpr int kMaxRanks = 4096;

/// One way of computing the shape of its group.
struct Cell {
  /// Such as `split/tbb/f32/t2/B1_T1024_D768_H12`, or `split/tbb/f32/r4t2/...` of several ranks.
  std::string id;
  Formulation formulation = Formulation::split;
  std::string backend;
  std::string chosen;  ///< the backend that `auto` will run; empty for every named backend
  Numbers numbers = {};
  /// Of `auto`: the precision was left to it, and `numbers` has the one that it takes.
  bool any_precision = false;
  int threads = 1;         ///< of each rank
  int ranks = 1;           ///< processes that share the heads
  std::size_t order = 0;   ///< position among the rivals of its shape
  std::optional<Isa> isa;  ///< only if forced, as is the unit
  std::optional<Unit> unit = std::nullopt;
  std::string kernels = {};  ///< their variant, if forced; part of the id, as `tbb.near`
  std::optional<std::int64_t> few_rows = std::nullopt;  ///< if forced; part of the id, as `.rows3`
  std::vector<std::string> warnings;                    ///< recorded with the result
  std::string skip_reason;   ///< if set before the sweep, the cell is not run
  bool unsupported = false;  ///< that reason is what the backend cannot do

  AttentionOptions options() const;
  /// The backend that does the arithmetic.
  const std::string& runs() const { return chosen.empty() ? backend : chosen; }
};

struct UserWeights;

/// All rivals of one shape that are fed the same numbers. They are measured together.
struct Group {
  Case shape;
  std::vector<Cell> cells;                               ///< that store the same
  std::shared_ptr<const UserWeights> weights = nullptr;  ///< null: drawn ones
  std::shared_ptr<const Matrix> input = nullptr;         ///< null: a drawn x

  /// What the cells store, in f32.
  Numbers stored() const { return cells.empty() ? Numbers{} : cells.front().numbers.as_stored(); }
};

struct Plan {
  std::vector<Group> groups;
  std::vector<std::string> notes;     ///< such as duplicates that were dropped
  std::vector<std::string> warnings;  ///< such as more threads than cores
  Target target = {};                 ///< what is in use, for which peaks are measured

  std::size_t cell_count() const;
};

/// How a cell computes its shape: the name of its formulation, or `attention` where queries, keys
/// and values are given.
std::string_view way_of(const Case& shape, const Cell& cell);

/// What a cell computes with, for tables: such as `bf16x6`, or `auto: bf16x6` where `auto` took it.
std::string numbers_words(const Cell& cell);

/// The name of a cell everywhere, such as `split/tbb/f32/t2/B1_T1024_D768_H12`.
std::string cell_id(const Case& shape, const Cell& cell);

}  // namespace headroom::plan
