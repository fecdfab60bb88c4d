// A layer that has everything a call can meet, and parts of its rows.
#pragma once

#include <cstdint>
#include <vector>

#include "support/layer_cases.hpp"

namespace headroom::test {

using Lengths = std::vector<std::int64_t>;

inline Case with_everything() {
  Case shape = plain_shape(150, 40, 6, 16);
  shape.kv_heads = 2;
  shape.window = 37;
  shape.rotary = {Rotary::Pairs::halves, 1000, 0.5};
  shape.qkv_bias = true;
  shape.d_proj = 24;
  return shape;
}

inline MatrixView rows_of(Matrix& matrix, std::int64_t first, std::int64_t count) {
  return matrix.view().slice(first, count);
}

}  // namespace headroom::test
