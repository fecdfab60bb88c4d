// What families of models do in their attention that no field of their configuration says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"

namespace headroom::weights {

/// Norms of queries and keys.
enum class FamilyNorm {
  none,
  heads,                  ///< of each head, with weights
  heads_plus_one,         ///< the same; files hold what is added to weights of one
  heads_if_asked,         ///< the same as `heads` where `use_qk_norm` is true
  width,                  ///< over all heads together, with weights
  after_rotary,           ///< of each head after its rotary positions, without weights, where
                          ///< `use_qk_norm` is true
  weighted_after_rotary,  ///< of each head after its rotary positions, with weights
};

/// Which layers have rotary positions, where no field says it.
enum class FamilyRotary {
  none,
  all,
  windows,         ///< those with a window
  windows_if_any,  ///< likewise, but all of a model without windows
};

/// Which layers have a window if `layer_types` does not say it.
enum class FamilyWindows {
  all,
  even,        ///< layer 0 and every other one
  by_pattern,  ///< all but every `sliding_window_pattern`-th
  by_global,   ///< all but layer 0 and every `global_attn_every_n_layers`-th
  upper,       ///< those from `max_window_layers` on
};

struct Family {
  std::string_view name;  ///< `model_type`
  bool causal = false;
  /// It has an encoder and a decoder. The names of a layer's tensors say of which it is: layers of
  /// decoders are causal.
  bool stacks = false;
  FamilyRotary rotary = FamilyRotary::none;
  FamilyNorm norm = FamilyNorm::none;
  FamilyWindows windows = FamilyWindows::all;
  bool sinks = false;
  bool gate = false;
  bool latent = false;   ///< keys and values are made of a latent
  bool chunks = false;   ///< layers with rotary positions have chunks, where no field says it
  bool slopes = false;   ///< ALiBi
  bool buckets = false;  ///< T5's biases
  double scale = 0;      ///< of scores, where no field says it; 0: the usual one
  /// The field that says whether queries, keys and values have biases.
  std::string_view bias_field = "attention_bias";
  bool qkv_bias = false;                              ///< where the class has no such field
  std::optional<Rotary::Pairs> pairs = std::nullopt;  ///< other than the layout's
  bool interleaved = false;  ///< sections of rotary positions take turns, whatever the file says
  bool full_scales = false;  ///< `rope_scaling` is of layers without a window alone
  std::string_view foreign = {};  ///< what it does that headroom does not
};

/// @return null for a family that is not known
HEADROOM_API const Family* find_family(std::string_view name);

/// Their names.
HEADROOM_API std::vector<std::string> family_names();

}  // namespace headroom::weights
