// Published models, and the layers that they have.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headroom/layer_config.hpp"

namespace headroom::plan {

/// How a model's rotary positions are stretched.
enum class Stretch {
  none,
  linear8,       ///< positions divided by 8 (Gemma 3's global layers)
  llama3_8,      ///< by frequency, up to 8 times 8,192 positions (Llama 3.1)
  llama3_16,     ///< up to 16 times, with one border between long and short wavelengths (Llama 4)
  llama3_32,     ///< up to 32 times (Llama 3.2)
  yarn32,        ///< YaRN, 32 times 4,096 positions (gpt-oss)
  yarn32_sharp,  ///< the same with one border between long and short wavelengths (Kimi K2)
  yarn40,        ///< 40 times 4,096 positions (DeepSeek)
};

struct ModelSizes {
  std::int64_t d_model = 0, heads = 0, head_dim = 0;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
};

/// Sizes and rules of one kind of a model's attention layers; 0 and false stand for "none".
struct Model {
  const char* name;
  ModelSizes sizes;
  std::int64_t window = 0, chunk = 0;
  double base = 0;  ///< of rotary positions
  Stretch stretch = Stretch::none;
  double part = 1;  ///< of a head that is turned
  Rotary::Pairs pairs = Rotary::Pairs::halves;
  QueryKeyNorm::Over norm = QueryKeyNorm::Over::none;
  double epsilon = 1e-6;  ///< of the norm
  bool after_rotary = false, weighted = true;
  double scaled_by = 0;  ///< scores are divided by the root of this; 0: of `head_dim`
  double scale = 0;      ///< or multiplied by this
  double softcap = 0;
  bool sinks = false, bias = false, both_sides = false;
  std::int64_t value_dim = 0;  ///< 0: as wide as keys
  Latent latent = {};
  double growth = 0;  ///< YaRN's multiplier of the scale of scores
};

/// All of them. Where layers are of two kinds, those that see all positions have a name of their
/// own, such as `gemma3-4b-full`.
std::span<const Model> all_models();

/// The first ones, which the presets `models` and `full` stand for: those names must go on meaning
/// the same cells, as results are compared with older ones.
std::span<const Model> preset_models();

/// The rules of a model's layer; its sizes are not set.
LayerConfig rules_of(const Model& model);

}  // namespace headroom::plan
