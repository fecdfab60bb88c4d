// From axes to the list of cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/auto_rival.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"

namespace headroom::plan {

struct ExpandOptions {
  std::uint64_t seed = 1;   ///< key of the dropout pattern
  bool allow_many = false;  ///< more than `kMaxCells`
  int ranks_here = 1;       ///< processes that were started, and may share the heads of a cell
};

inline constexpr std::size_t kMaxCells = 100'000;
/// The limit even if more cells are allowed: the list alone must not exhaust memory.
inline constexpr std::size_t kMaxShapes = 10'000'000;

/// @throws InvalidArgument for invalid numbers, names or combinations, and for more ranks than
///         `ranks_here`; Unavailable for a named backend or instruction set that is not available;
///         as `find_user_weights`.
Plan expand(const Axes& axes, const ExpandOptions& options);

/// What the axes say of the rivals of every shape, with the defaults of what was not given.
RivalAxes rival_axes_of(const Axes& axes);

/// What cells of these axes store: every dtype with every storage of weights, in f32.
std::vector<Numbers> stored_of(const Axes& axes);

/// What is left of a layer and its call without the products, and without what prepares queries,
/// keys and values or changes what heads give.
Case attention_alone(const Case& shape);

/// Of the rivals of a layer those of attention alone, which has no formulations.
std::vector<Cell> attention_rivals(const std::vector<Cell>& of_layer);

/// Marks a cell whose backend cannot do its numbers, or computes them as others: a name that was
/// measured is what was computed.
void decline_numbers(Cell& cell);

/// Marks all cells of a shape whose outliers would change its scores.
void decline_outliers(const Case& shape, std::vector<Cell>& cells);

/// Only the shapes of the axes, each once.
/// @param weights of `find_user_weights`; may be null
/// @param notes receives notes, such as what was repeated
/// @throws InvalidArgument as `expand`, and for more than `most` shapes.
std::vector<Case> expand_shapes(const Axes& axes, const UserWeights* weights, std::uint64_t seed,
                                std::size_t most, std::vector<std::string>& notes);

}  // namespace headroom::plan
