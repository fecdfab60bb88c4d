#include "measure/group/heads_layout.hpp"

#include "headroom/initialise.hpp"

namespace headroom::measure {
namespace {

// A layer whose inputs are as wide as the heads.
LayerConfig as_inputs(const Case& shape) {
  LayerConfig inputs;
  inputs.d_in = shape.d_out;
  inputs.d_memory = shape.kv_width();
  return inputs;
}

}  // namespace

SplitWeights drawn_weights(const Case& shape, std::uint64_t seed) {
  return shape.has_projections() ? gaussian_weights(shape, seed) : SplitWeights{};
}

Matrix gaussian_queries(const Case& shape, std::uint64_t seed) {
  return gaussian_input(shape.rows(), as_inputs(shape), seed);
}

Matrix gaussian_keys(const Case& shape, std::uint64_t seed) {
  return gaussian_past(shape.batch * shape.context(), as_inputs(shape), seed);
}

Matrix gaussian_values(const Case& shape, std::uint64_t seed) {
  return gaussian_memory(shape.batch * shape.context(), as_inputs(shape), seed);
}

}  // namespace headroom::measure
