// What a model's configuration says of one of its layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/layer_config.hpp"

namespace headroom::weights {

/// What it says of an attention layer.
struct ModelConfig {
  std::filesystem::path path;
  std::string family;  ///< `model_type`; may be empty
  std::optional<std::int64_t> width, heads, kv_heads, head_dim, window;
  std::optional<bool> causal;  ///< for a family that is known
  bool masks_by_name = false;  ///< the names of a layer's tensors say it
  bool turns = false;          ///< the layer has rotary positions
  /// All but sizes, window and `causal`. Rotary pairs only where they are not those of the layout;
  /// with a gate, rows of the query are those of a head's query, then those of its gate.
  LayerConfig rules;
  bool norm_plus_one = false;  ///< files hold what is added to weights of one
  double slope_factor = 1;     ///< of slopes, where the bias has them
  /// How often query, key and value follow each other in the rows of a fused matrix.
  std::int64_t qkv_groups = 1;
  /// What the model does in its attention that headroom does not, each as `field is value`.
  std::vector<std::string> foreign;
};

}  // namespace headroom::weights
