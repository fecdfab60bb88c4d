// What a model's configuration says of one of its layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/layer_config.hpp"

namespace headroom::weights {

/// Which layer of a model is meant, and as what it is read.
struct ConfigLayer {
  std::optional<std::int64_t> number = std::nullopt;  ///< where layers differ
  /// What the names of its tensors share, such as `vision_model.encoder.layers.0.self_attn`: parts
  /// of a model have configurations of their own.
  std::string name = {};
  std::string family = {};  ///< in place of the file's `model_type`; empty: that one
};

/// What it says of an attention layer.
struct ModelConfig {
  std::filesystem::path path;
  std::string family;  ///< `model_type`, or what was asked for; may be empty
  bool known = false;  ///< headroom knows what the family computes
  std::optional<std::int64_t> width, heads, kv_heads, head_dim, window;
  std::optional<bool> causal;  ///< for a family that is known
  bool stacks = false;         ///< the names of a layer's tensors say it: encoder or decoder
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

  /// Width of a head, if enough is known.
  std::optional<std::int64_t> head_width() const {
    if (head_dim || !width || !heads) return head_dim;
    return *width / *heads;
  }
};

}  // namespace headroom::weights
