// What a configuration says of a layer, part by part. Only for the reader of configurations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "weights/layer/config/config_fields.hpp"
#include "weights/layer/families.hpp"
#include "weights/layer/model_config.hpp"

namespace headroom::weights {

/// A layer that is being read.
struct ConfigReading {
  const ConfigFields& fields;
  ModelConfig& config;
  Family family = {};
  bool slides = false;       ///< the layer has a window
  bool has_windows = false;  ///< some layer of the model has one

  LayerConfig& rules() const { return config.rules; }
  /// Something that the model does and headroom does not.
  void add_foreign(std::string_view field, const nlohmann::json& value) const;
};

/// Whether this layer is one of those without positions, where the layers differ.
bool has_no_rotary(const ConfigReading& reading);
/// Rotary positions of a part of the head, their stretch, and the temperature of layers that have
/// none. `config.head_dim` is known.
void read_rotary(ConfigReading& reading);
/// What says how positions are stretched; null where nothing does. @throws FileError if it is no
/// object.
const nlohmann::json* find_rope_scaling(const ConfigReading& reading);
/// Its type, by either name; null where there is none.
const nlohmann::json* find_scaling_type(const nlohmann::json& scaling);

/// Keys and values that are made of a latent, with their rotary positions: DeepSeek V2 and V3, Kimi
/// K2.
void read_latent(ConfigReading& reading);

/// Matrices that hold query, key and value of one head, or of one group of heads, after the other:
/// Falcon, BLOOM, GPT-NeoX.
void read_groups(ConfigReading& reading);
/// What is added by distance, and what else these families say: BLOOM, MPT, Falcon, T5.
void read_position_bias(ConfigReading& reading);

}  // namespace headroom::weights
