// Layers whose values are those of bf16, for tests of what computes or stores less than f32.
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/dtype.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test {

inline void round(std::vector<float>& values) {
  for (float& value : values) value = round_to_bf16(value).value();
}

inline Layer rounded(Layer layer) {
  for (Matrix* m : {&layer.weights.query, &layer.weights.key, &layer.weights.value,
                    &layer.weights.output, &layer.x, &layer.past, &layer.memory}) {
    round(m->values);
  }
  return layer;
}

inline Case layer_of_96(std::int64_t tokens) {
  Case shape = plain_shape(tokens, 96, 6, 32);
  shape.d_proj = 80;
  return shape;
}

}  // namespace headroom::test
