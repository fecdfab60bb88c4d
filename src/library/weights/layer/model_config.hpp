// `config.json`, which models for `transformers` have beside their weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headroom/export.h"
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

/// @param layer its number, for models whose layers differ
/// @throws FileError if it is no JSON object, or one of the fields is no such number.
HEADROOM_API ModelConfig read_config_file(const std::filesystem::path& path,
                                          std::optional<std::int64_t> layer);

/// The same of fields that were found elsewhere. @param path for messages
ModelConfig read_config_fields(const std::filesystem::path& path, const nlohmann::json& fields,
                               std::optional<std::int64_t> layer);

/// That of a folder. @return nothing if the folder has no such file
std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       std::optional<std::int64_t> layer);

}  // namespace headroom::weights
