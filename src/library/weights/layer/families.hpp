// What families of models do in their attention that no field of their configuration says.
#pragma once

#include <optional>
#include <string_view>

#include "headroom/layer_config.hpp"

namespace headroom::weights {

/// Norms of queries and keys.
enum class FamilyNorm {
  none,
  heads,           ///< of each head, with weights
  heads_plus_one,  ///< the same; files hold what is added to weights of one
  heads_if_asked,  ///< the same as `heads` where `use_qk_norm` is true
  width,           ///< over all heads together, with weights
  after_rotary,    ///< of each head after its rotary positions, without weights, where
                   ///< `use_qk_norm` is true
};

/// Which layers have a window if `layer_types` does not say it.
enum class FamilyWindows {
  all,
  even,        ///< layer 0 and every other one
  by_pattern,  ///< all but every `sliding_window_pattern`-th
  by_global,   ///< all but layer 0 and every `global_attn_every_n_layers`-th
};

struct Family {
  std::string_view name;  ///< `model_type`
  bool causal = false;
  bool masks_by_name = false;  ///< layers of decoders are causal, as their names say
  bool turns = false;          ///< rotary positions
  FamilyNorm norm = FamilyNorm::none;
  FamilyWindows windows = FamilyWindows::all;
  bool sinks = false;
  bool gate = false;
  bool latent = false;  ///< keys and values are made of a latent
  bool chunks = false;  ///< layers with rotary positions have chunks, where no field says it
  std::int64_t no_rotary_every = 0;  ///< likewise, which layers have none; 0: all have them
  bool slopes = false;               ///< ALiBi
  bool buckets = false;              ///< T5's biases
  double scale = 0;                  ///< of scores, where no field says it; 0: the usual one
  bool qkv_bias = false;             ///< where no field `attention_bias` says so
  std::optional<Rotary::Pairs> pairs = std::nullopt;  ///< other than the layout's
  double partial = 1;                                 ///< part of a head that turns, by default
  bool interleaved = false;  ///< sections of rotary positions take turns, whatever the file says
  std::string_view foreign = {};  ///< what it does that headroom does not
};

/// @return null for a family that is not known
const Family* find_family(std::string_view name);

}  // namespace headroom::weights
