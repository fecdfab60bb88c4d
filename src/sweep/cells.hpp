// From axes to the list of cells: shape x formulation x backend x threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/attention.hpp"
#include "headroom/isa.hpp"
#include "headroom/shape.hpp"
#include "sweep/axes.hpp"

namespace headroom::sweep {

/// One way of computing the shape of its group.
struct Cell {
  std::string id;  ///< such as `split/tbb/f32/t2/B1_T1024_D768_H12`
  Formulation formulation = Formulation::split;
  std::string backend;
  std::string chosen;  ///< what `auto` is going to run; empty for every named backend
  int threads = 1;
  std::size_t order = 0;              ///< place among the rivals of its shape
  std::optional<Isa> isa;             ///< only if forced
  std::vector<std::string> warnings;  ///< recorded with the result
  std::string skip_reason;            ///< decided before the sweep: not to be run

  AttentionOptions options() const { return {backend, formulation, threads, isa}; }
  /// The backend that does the arithmetic.
  const std::string& runs() const { return chosen.empty() ? backend : chosen; }
};

/// All rivals of one shape. They are measured together.
struct Group {
  Shape shape;
  std::vector<Cell> cells;
};

struct Plan {
  std::vector<Group> groups;
  std::vector<std::string> notes;     ///< such as duplicates that were dropped
  std::vector<std::string> warnings;  ///< such as more threads than cores
  Isa isa = Isa::sse42;               ///< the level in force, which peaks are measured for

  std::size_t cell_count() const;
};

struct ExpandOptions {
  std::uint64_t seed = 1;   ///< key of the dropout pattern
  bool allow_many = false;  ///< more than `kMaxCells`
};

inline constexpr std::size_t kMaxCells = 100'000;

/// @throws InvalidArgument for wrong numbers, names or combinations; Unavailable for a backend or
///         an instruction set that was named and is not here.
Plan expand(const Axes& axes, const ExpandOptions& options);

/// The parts of `expand` that other commands need on their own.

/// Names separated by commas. @throws InvalidArgument for an empty one.
std::vector<std::string> split_names(std::string_view option, std::string_view text);

struct BackendChoice {
  std::string name;
  bool threaded = false;
  bool uses_isa = false;
};
std::vector<BackendChoice> parse_backends(const std::optional<std::string>& text);
std::vector<Formulation> parse_formulations(const std::optional<std::string>& text);
std::optional<Isa> parse_forced_isa(const std::optional<std::string>& text);
std::vector<int> parse_threads(const std::optional<std::string>& text);

std::string cell_id(const Shape& shape, const Cell& cell);

}  // namespace headroom::sweep
