// Norms of queries and keys of the oracle, in double.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace headroom::reference {

/// Applies the shape's norm to the heads of one token; does nothing for a shape without one. With
/// `r = sqrt(mean(x^2) + epsilon)` sizes become what element_bound.hpp says.
/// @param weights as in `SplitWeights`; empty for ones
void normalise(const Case& shape, std::int64_t heads, const std::vector<float>& weights,
               double* values, double* sizes);

/// The same of one row, a latent.
void normalise_latent(double epsilon, const std::vector<float>& weights, double* values,
                      double* sizes);

}  // namespace headroom::reference
