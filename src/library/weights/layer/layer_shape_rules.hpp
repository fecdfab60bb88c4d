// What the shape of a layer is when its tensors, a configuration and a user speak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/layer_config.hpp"
#include "headroom/load_weights.hpp"
#include "weights/layer/layouts.hpp"
#include "weights/layer/model_config.hpp"

namespace headroom::weights {

/// Widths of the stored matrices.
struct Widths {
  std::int64_t d_in = 0;
  std::int64_t heads_width = 0;  ///< of the query; 0 if it is fused and there is no output
  std::int64_t qkv_width = 0;    ///< of query, key and value together
  std::int64_t d_proj = 0;
};

/// Sizes and rules of the layer.
/// @param layer null for named tensors
/// @param notes receives what was assumed
/// @throws InvalidArgument for options that say too little or contradict what is known.
LayerConfig config_of_layer(const Widths& widths, const WeightsOptions& options,
                            const std::optional<ModelConfig>& config, const FoundLayer* layer,
                            std::vector<std::string>& notes);

}  // namespace headroom::weights
