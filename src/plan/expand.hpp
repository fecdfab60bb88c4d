// From axes to the list of cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/axes.hpp"
#include "plan/cell.hpp"

namespace headroom::plan {

struct ExpandOptions {
  std::uint64_t seed = 1;   ///< key of the dropout pattern
  bool allow_many = false;  ///< more than `kMaxCells`
};

inline constexpr std::size_t kMaxCells = 100'000;
/// Even where more cells are allowed: the list alone must not use up the memory.
inline constexpr std::size_t kMaxShapes = 10'000'000;

/// @throws InvalidArgument for wrong numbers, names or combinations; Unavailable for a backend or
///         an instruction set that was named and is not here.
Plan expand(const Axes& axes, const ExpandOptions& options);

/// The shapes of the axes alone, each once; who computes them is not looked at.
/// @param notes takes such as what was repeated
/// @throws InvalidArgument as `expand`, and for more than `most` shapes.
std::vector<Shape> expand_shapes(const Axes& axes, std::uint64_t seed, std::size_t most,
                                 std::vector<std::string>& notes);

}  // namespace headroom::plan
