// Names that models give to the tensors of an attention layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "headroom/load_weights.hpp"

namespace headroom::weights {

enum class Biases { required, optional };
enum class Mask { causal, none, of_decoders };  ///< what the family does if no config says it

/// Names are what follows the part that all tensors of a layer share. The name of a bias ends in
/// `bias` in place of `weight`.
struct Layout {
  std::string_view name;
  std::string_view meaning;            ///< for people
  std::string_view query, key, value;  ///< empty if fused
  std::string_view qkv;                ///< all three, one after the other; empty if separate
  std::string_view output;
  Stored stored = Stored::out_in;
  Biases biases = Biases::optional;
  Mask mask = Mask::none;
  Rotary::Pairs pairs = Rotary::Pairs::none;  ///< if a config says that there are rotary positions
  /// What makes the latent of keys and values, where there is one; `key` is both behind it then.
  std::string_view down = {};
  std::string_view query_norm = "q_norm.weight", key_norm = "k_norm.weight", sinks = "sinks";

  /// The tensor by which a layer is found.
  std::string_view first() const { return !down.empty() ? down : qkv.empty() ? query : qkv; }
};

/// Names of a layer's tensors; those that it does not have are empty.
struct LayerNames {
  std::string query, key, value, qkv, output;
  std::string query_bias, key_bias, value_bias, qkv_bias, output_bias;
  std::string query_norm, key_norm, sinks, position_bias;
};

/// A layer that was found by the names of its tensors.
struct HEADROOM_API FoundLayer {
  const Layout* layout = nullptr;
  std::string prefix;                  ///< what the names share, with the last dot
  std::optional<std::int64_t> number;  ///< the last one in the prefix
  std::vector<std::string> missing;    ///< matrices that the layout has and the file does not

  /// The prefix without the dot.
  std::string name() const;
};

/// Every layer, in the order of their numbers.
/// @param names sorted
HEADROOM_API std::vector<FoundLayer> find_layers(const std::vector<std::string>& names);

/// What T5 calls the values of its buckets.
inline constexpr std::string_view kBuckets = "relative_attention_bias.weight";
/// The weights of GGUF's query norms.
inline constexpr std::string_view kGgufQueryNorm = "attn_q_norm.weight";

/// What DeepSeek calls the tensors that its layout does not name: queries may come from a latent of
/// their own.
inline constexpr std::string_view kLatentQuery = "q_proj.weight",
                                  kLatentQueryDown = "q_a_proj.weight",
                                  kLatentQueryUp = "q_b_proj.weight",
                                  kLatentQueryNorm = "q_a_layernorm.weight",
                                  kLatentKeyNorm = "kv_a_layernorm.weight";

/// Tensors beside those of the layout that change what the layer computes, such as norms of
/// queries.
/// @param known those that the layer has anyway
std::vector<std::string> foreign_tensors(const FoundLayer& layer,
                                         const std::vector<std::string>& names,
                                         const LayerNames& known);

/// `weight` at the end replaced by `bias`.
std::string bias_of(std::string_view weight);

/// The layouts' names with their meanings, for people.
HEADROOM_API std::string layout_words();

}  // namespace headroom::weights
