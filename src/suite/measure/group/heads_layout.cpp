#include "measure/group/heads_layout.hpp"

#include "headroom/initialise.hpp"

namespace headroom::measure {
namespace {

// Of a layer whose inputs are as wide as the heads.
Shape as_inputs(const Shape& shape) {
  Shape inputs = shape;
  inputs.d_in = shape.d_out;
  inputs.causal = false;
  inputs.window = 0;
  inputs.d_memory = shape.kv_width();
  inputs.past = inputs.memory_tokens = shape.context();
  return inputs;
}

}  // namespace

Matrix gaussian_queries(const Shape& shape, std::uint64_t seed) {
  return gaussian_input(as_inputs(shape), seed);
}

Matrix gaussian_keys(const Shape& shape, std::uint64_t seed) {
  return gaussian_past(as_inputs(shape), seed);
}

Matrix gaussian_values(const Shape& shape, std::uint64_t seed) {
  return gaussian_memory(as_inputs(shape), seed);
}

}  // namespace headroom::measure
