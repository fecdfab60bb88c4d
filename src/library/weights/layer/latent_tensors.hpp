// The tensors of a layer whose keys and values are made of a latent.
#pragma once

#include <optional>

#include "weights/layer/model_config.hpp"
#include "weights/layer/naming.hpp"
#include "weights/layer/stored_parts.hpp"

namespace headroom::weights {

/// Adds the layer's shape, matrices and norms, as DeepSeek's files have them: rows of `kv_b_proj`
/// are those of a head's key, then of its value, head by head.
/// @throws InvalidArgument without a configuration that says the widths; FileError for tensors that
///         do not fit it; Unsupported for biases of the latents.
void add_latent_tensors(TensorSet& set, const Naming& naming,
                        const std::optional<ModelConfig>& model, const WeightsOptions& options,
                        StoredLayer& layer);

}  // namespace headroom::weights
