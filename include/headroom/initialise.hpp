/// @file
/// Reproducible inputs and weights: the same seed gives the same values on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// Weights drawn from a Gaussian with standard deviation `1 / sqrt(rows of the matrix)`, so that
/// projections of a unit Gaussian again have close to unit variance. Biases are drawn with standard
/// deviation 0.1.
HEADROOM_API SplitWeights gaussian_weights(const LayerConfig& config, std::uint64_t seed);

/// The layer's input: rows of `d_in` unit Gaussians.
HEADROOM_API Matrix gaussian_input(std::int64_t rows, const LayerConfig& config,
                                   std::uint64_t seed);

/// The second input: rows of `d_memory` unit Gaussians, other ones than those of `gaussian_input`.
HEADROOM_API Matrix gaussian_memory(std::int64_t rows, const LayerConfig& config,
                                    std::uint64_t seed);

/// The inputs of the tokens that came before: rows of `key_input()` unit Gaussians, other ones than
/// those above.
HEADROOM_API Matrix gaussian_past(std::int64_t rows, const LayerConfig& config, std::uint64_t seed);

/// The draw of `torch.manual_seed(seed)` followed by `nn.Linear` for query, key, value and then
/// the output projection: uniform in +-1/sqrt(rows), from the low 24 bits of a 32-bit Mersenne
/// Twister's draws, weight before bias, each matrix in `nn.Linear`'s transposed order.
/// Query, key and value have biases with `qkv_bias`; the output projection always has one.
HEADROOM_API SplitWeights linear_weights(const LayerConfig& config, std::uint32_t seed);

/// The draw of the textbook's wrapper: query, key and value `nn.Linear` of head 0, of head 1 and
/// so on, each `d_in -> head_dim`, then the output projection if the layer has one. Of heads that
/// share a key head, only the first draws key and value.
HEADROOM_API PerHeadWeights linear_weights_per_head(const LayerConfig& config, std::uint32_t seed);

/// The draw of `torch.manual_seed(seed)` followed by `torch.rand(rows, cols)` `count` times.
HEADROOM_API std::vector<Matrix> uniform_matrices(std::int64_t rows, std::int64_t cols, int count,
                                                  std::uint32_t seed);

}  // namespace headroom
