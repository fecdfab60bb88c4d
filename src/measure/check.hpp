// Every result is checked against the oracle before anything is said about it.
#pragma once

#include <cstdint>

#include "headroom/attention.hpp"
#include "headroom/shape.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::measure {

/// The inputs of a shape and the result expected from a layer.
struct Problem {
  Shape shape;
  SplitWeights weights;
  Matrix x;
  reference::Expected expected;
  reference::Data data = reference::Data::standard;  ///< which limits apply

  bool all_rows_checked() const {
    return static_cast<std::int64_t>(expected.rows.size()) == shape.rows();
  }
};

/// Draws weights and input from the seed and computes the expected result for as many rows as
/// `max_flops` allows. Adversarial data has query and key weights scaled so that logits reach
/// about 100, where a softmax that does not subtract the maximum overflows. The limits are those of
/// numerics.md: the element bound for adversarial data and for every shape with dropout.
Problem make_problem(const Shape& shape, std::uint64_t seed, reference::Data data,
                     double max_flops);

struct Checked {
  reference::Comparison comparison;
  PhaseTimes phases;
};

/// Runs the layer once and compares. `y` is filled with NaN first, so that a backend that does not
/// write every value cannot pass with values that a rival left there.
Checked run_and_compare(Attention& attention, const Problem& problem, MatrixView y);

}  // namespace headroom::measure
