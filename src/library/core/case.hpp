// A layer and a call of it: what a benchmark names and measures, and what a choice is made for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/element/layer_numbers.hpp"
#include "headroom/call_sizes.hpp"
#include "headroom/export.h"
#include "headroom/layer_config.hpp"
#include "headroom/precision.hpp"

namespace headroom {

/// Floating-point operations of one forward pass: a multiplication and an addition count as two,
/// and masked products do not count.
struct FlopCount {
  /// `2 * B * T * d_in * 3 * d_out`; with fewer key heads or other values the width is
  /// `d_out + kv_width() + value_width()`. Of a latent layer all products before attention.
  double qkv = 0;
  /// `4 * d_out` for each pair of a row and a key that it sees: `4 * B * T * T * d_out`, causal
  /// `2 * B * T * (T + 1) * d_out`; a past, a window and lengths change the number of pairs, and
  /// values of another width make it `2 * (d_out + context_width())`. After a past, a latent layer
  /// attends over latents: `2 * heads * (latent_width() + rank)`.
  double attention = 0;
  double output = 0;  ///< `2 * B * T * context_width() * d_proj`

  double total() const { return qkv + attention + output; }
};

/// Bytes of the data of one layer, before any backend packs or pads them.
struct ByteCount {
  /// `x`: `B * T * d_in`, and the second input if there is one; or the call's queries, keys and
  /// values.
  std::int64_t input = 0;
  std::int64_t output = 0;   ///< `y`: `B * T * output_width()`
  std::int64_t weights = 0;  ///< all matrices and biases
  std::int64_t past = 0;     ///< keys and values of the tokens that came before
};

/// Without `d_in` there is no layer: queries, keys and values are given, as `DotProductAttention`
/// takes them. Then `past` counts the keys before that of the first query.
struct HEADROOM_API Case : LayerConfig, CallSizes {
  /// Tokens of each of `batch` sequences, whose rows follow each other without gaps. Empty:
  /// `tokens` for all, else the largest is `tokens`.
  std::vector<std::int64_t> lengths = {};
  /// How many times as large as others some channels of x and of the keys are; 0: none is. What
  /// they are multiplied with is as many times smaller. Only who draws data looks at it.
  std::int64_t outliers = 0;

  /// Whether queries, keys and values are made of x, by weights; else they are given.
  bool has_projections() const { return d_in > 0; }
  /// Whether values are the first ones of their keys, `head_value_dim()` of them: the latents that
  /// a latent layer attends over.
  bool values_in_keys() const { return !has_projections() && is_latent(); }
  /// Tokens of one sequence.
  std::int64_t length(std::int64_t sequence) const {
    return lengths.empty() ? tokens : lengths[static_cast<std::size_t>(sequence)];
  }
  /// Tokens of all sequences: `B * T`, or the sum of `lengths`.
  std::int64_t rows() const;
  /// Tokens of the second input, all sequences together.
  std::int64_t memory_rows() const { return batch * memory_tokens; }
  /// The most keys of a sequence: what came before and what comes.
  std::int64_t context() const { return past + (d_memory > 0 ? memory_tokens : tokens); }

  bool operator==(const Case&) const = default;

  /// @throws InvalidArgument as `LayerConfig::validate`, but for a `d_in` of 0; likewise for sizes
  ///         of the call.
  void validate() const;

  /// @pre the case is valid.
  FlopCount flops() const;

  /// @pre the case is valid. @param stored the precision does not count
  ByteCount bytes(const Numbers& stored = {}) const;

  /// Such as `B1_T1024_D768_H12`; what differs from a plain causal layer with an output projection
  /// of its own width follows, such as `_nomask` or `_K8_P4096`; `_qkv` where heads are given.
  std::string id() const;
};

/// Why keys and values of a layer cannot be stored as something else than its inputs, or nothing.
HEADROOM_API std::optional<std::string> declines_cache(const LayerConfig& config, Storage storage);

/// Bytes of so many tokens of a cache. Of `q8` every value has one, a token's values of a head
/// share two for their scale, and 64 keys of a channel.
HEADROOM_API std::int64_t cache_bytes(Storage storage, std::int64_t tokens,
                                      const LayerConfig& config);

}  // namespace headroom
