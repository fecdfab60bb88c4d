// A layer with all that goes into it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/initialise.hpp"
#include "headroom/weights.hpp"
#include "reference/inputs.hpp"
#include "reference/oracle.hpp"

namespace headroom::test {

struct Layer {
  Case shape;
  SplitWeights weights;
  Matrix x;            ///< `rows() x d_in`
  Matrix past = {};    ///< inputs of the tokens that came before, `batch * past` rows
  Matrix memory = {};  ///< the second input

  /// What tokens are turned by, as `Inputs` has it.
  std::vector<std::int64_t> positions = {};

  reference::Inputs inputs() const {
    return {.x = x.view(), .past = past.view(), .memory = memory.view(), .positions = positions};
  }
};

/// What the oracle gives for all rows.
inline reference::Expected oracle(const Layer& layer, int threads = 1) {
  return reference::attention(layer.shape, layer.weights, layer.inputs(),
                              reference::all_rows(layer.shape), threads);
}

/// What is left of weights that are stored in few bits.
inline SplitWeights stored(SplitWeights weights, Storage storage) {
  for (Matrix* matrix :
       {&weights.query, &weights.key, &weights.value, &weights.output, &weights.gate}) {
    if (matrix->view().rows > 0) round_weights(storage, matrix->view());
  }
  return weights;
}

/// Gaussian weights and input: the standard data of docs/numerics.md.
inline Layer gaussian_layer(const Case& shape, std::uint64_t seed = 7) {
  return {shape, gaussian_weights(shape, seed), gaussian_input(shape.rows(), shape, seed + 1),
          gaussian_past(shape.batch * shape.past, shape, seed + 1),
          gaussian_memory(shape.memory_rows(), shape, seed + 1)};
}

}  // namespace headroom::test
