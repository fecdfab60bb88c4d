// What the metadata of a GGUF file say of an attention layer.
#pragma once

#include <cstdint>
#include <optional>

#include "weights/layer/model_config.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::weights {

/// Biases, norms and sinks follow from tensors; all else is as if a config.json said it.
/// @param set of a GGUF file; tensors with factors of rotary positions are read
/// @param layer its number
/// @return with an architecture or keys that are not known among what is `foreign`
/// @throws FileError naming the key that is missing or no such number.
ModelConfig read_gguf_config(TensorSet& set, std::optional<std::int64_t> layer);

}  // namespace headroom::weights
