// The three arrangements of the query, key and value projections, as plans over one operation.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// One product of a formulation: its weights, and which head blocks it fills (query heads, then key
/// heads, then value heads).
struct PlannedProduct {
  ProductSpec spec;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
};

/// The products of a formulation in the order in which they run. Views as in `weights`.
struct PlannedProducts {
  std::vector<PlannedProduct> of_x;
  std::vector<PlannedProduct> of_memory;  ///< of the second input, if the layer has one
};
PlannedProducts plan_products(Formulation formulation, const Case& shape,
                              const WeightViews& weights);

}  // namespace headroom
