// The double-precision reference that every result is checked against. Plain loops, no backend.
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/shape.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/inputs.hpp"

namespace headroom::reference {

/// The expected values of some rows of `y`, and how close a result in float must be.
struct Expected {
  std::vector<std::int64_t> rows;  ///< which of the call's `rows()`, ascending
  std::int64_t width = 0;          ///< columns of `y`
  std::vector<double> y;           ///< `rows x width`
  std::vector<double> bound;  ///< largest allowed error of each in float, see element_bound.hpp
};

/// Every row of the shape.
std::vector<std::int64_t> all_rows(const Shape& shape);

/// Computes the rows on up to `threads` threads. Weights are applied in the order that costs least
/// for the number of rows, so that a few rows of a very large layer stay affordable. A row that
/// sees no key, because a second input is empty, has a context of zeros.
Expected attention(const Shape& shape, const SplitWeights& weights, const Inputs& inputs,
                   const std::vector<std::int64_t>& rows, int threads);

/// The same for a call of x alone.
Expected attention(const Shape& shape, const SplitWeights& weights, ConstMatrixView x,
                   const std::vector<std::int64_t>& rows, int threads);

}  // namespace headroom::reference
