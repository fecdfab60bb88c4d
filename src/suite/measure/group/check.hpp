// Every result is checked against the oracle before anything is said about it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/case.hpp"
#include "headroom/attention.hpp"
#include "headroom/view.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/problem.hpp"
#include "plan/cell.hpp"
#include "reference/comparator.hpp"

namespace headroom::measure {

/// Weights and inputs of the group: its own, and the others drawn from the seed. Adversarial data
/// has query and key weights scaled so that logits reach about 100, where a softmax that is
/// careless with its maximum overflows. Its limits are those of docs/numerics.md: the element bound
/// for adversarial data, for every shape with dropout or outliers, for attention alone, and for
/// weights and inputs of the user's, which may be of any size.
Problem make_inputs(const plan::Group& group, std::uint64_t seed, reference::Data data);

/// Likewise, with the expected result of as many rows as `max_flops` allows, drawn from the seed.
/// @param group weights and inputs are rounded to what its cells store first, so that the oracle
///        is fed what they are fed; without cells to f32
Problem make_problem(const plan::Group& group, std::uint64_t seed, reference::Data data,
                     double max_flops);

/// Which limits hold for a shape whose data were drawn as `drawn`. The norm-wise ones are for
/// Gaussian data without dropout or outliers, and for rows that products have made alike: of
/// attention alone the first rows of a prompt are many times as large as the last. Beside products
/// of bytes they are for layers that average those.
reference::Data judged_as(const Case& shape, reference::Data drawn,
                          const std::vector<Numbers>& rivals);

/// What the cells of a sweep are checked with: standard data. None if it does not fit in memory.
std::optional<Problem> try_problem(const plan::Group& group, std::uint64_t seed);

struct Checked {
  reference::Comparison comparison;
  PhaseTimes phases;
};

/// Done before each pass, such as to empty the caches. May be empty.
using BeforePass = std::function<void()>;

/// Runs the layer once and compares, within the limits of what it computes with. `y` is filled with
/// NaN before, so that a backend that writes nothing, or not everything, cannot pass with what a
/// rival left there.
/// @param x as in the problem, wherever it lies
Checked run_and_compare(CellLayer& layer, const Problem& problem, ConstMatrixView x, MatrixView y,
                        const BeforePass& before = {});

/// Seconds of all phases together.
double total(const PhaseTimes& times);

/// How long a pass takes.
struct Pace {
  PhaseTimes phases;   ///< the median of each
  double forward = 0;  ///< seconds of the shortest pass
};

/// Where a pass is short, takes `plan::kPhaseRuns` more; else the first pass is all there is.
Pace measure_pace(CellLayer& layer, ConstMatrixView x, MatrixView y, const PhaseTimes& first,
                  const BeforePass& before = {});

}  // namespace headroom::measure
