/// @file
/// A layer of multi-head attention: all that is fixed when its weights are packed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/export.h"

namespace headroom {

/// Rotary position embedding of queries and keys (Su et al., "RoFormer", 2021): pair `i` of a head
/// at position `p` is turned by the angle `p * scale * base^(-2 i / width) / divisors[i]`.
struct Rotary {
  /// Which two values of a head make a pair.
  enum class Pairs {
    none,        ///< queries and keys stay as they are
    neighbours,  ///< `2 i` and `2 i + 1`, as in RoFormer and GPT-J
    halves,      ///< `i` and `i + width / 2`, as in Llama's checkpoints for `transformers`
  };
  Pairs pairs = Pairs::none;
  double base = 10000;
  double scale = 1;        ///< multiplies positions; below 1 stretches a context
  std::int64_t width = 0;  ///< values of a head that are turned, its first ones; 0: all
  /// One for each pair, above 0, or none: how models stretch their context by frequency (Llama 3,
  /// YaRN, LongRoPE).
  std::vector<double> divisors = {};
  double amplitude = 1;  ///< of cosines and sines, above 0; YaRN's attention factor
  /// Tokens of pictures have three positions: in time, height and width. So many pairs turn by each
  /// of them, all pairs together (Wang et al., "Qwen2-VL", 2024). All 0: a token has one.
  std::array<std::int64_t, 3> sections = {0, 0, 0};
  /// The sections take turns, as in Qwen3-VL: of the first `3 n` pairs, with a section of n, each
  /// second of three is of heights, each third of widths; what is left is of times. Otherwise they
  /// follow each other.
  bool interleaved = false;
  /// Tokens up to which base and divisors hold; 0: always. In calls that reach further, all rows
  /// turn by `long_divisors` in place of `divisors`, or by a larger base. What a cache has already
  /// turned stays as it is. See `Call::context`.
  std::int64_t context = 0;
  /// As many as pairs, or none (Ding et al., "LongRoPE", 2024). A cache with tokens of calls that
  /// did not reach so far refuses one that does, and the other way round.
  std::vector<double> long_divisors = {};
  /// Above 0: in calls that reach to `n` tokens the base is times `(growth * n / context - (growth
  /// - 1))^(width / (width - 2))`, as transformers' `dynamic` has it ("NTK-aware" scaling).
  double growth = 0;

  /// Whether a token has three positions.
  bool has_sections() const { return sections != std::array<std::int64_t, 3>{0, 0, 0}; }
  bool operator==(const Rotary&) const = default;
};

/// Root-mean-square norm of queries and keys: `x / sqrt(mean(x^2) + epsilon)`, times weights
/// (Henry et al., "Query-Key Normalization", 2020).
struct QueryKeyNorm {
  /// Whose mean it is.
  enum class Over {
    none,   ///< there is no norm
    head,   ///< each head's own, with one set of `head_dim` weights for all
    width,  ///< all heads' of a token, with a weight for each value
  };
  Over over = Over::none;
  bool weighted = true;       ///< the weights are `WeightViews::query_norm` and `key_norm`
  bool after_rotary = false;  ///< applied to turned queries and keys; of heads only
  double epsilon = 1e-6;      ///< above 0

  bool operator==(const QueryKeyNorm&) const = default;
};

/// What is added to scaled scores by the distance of key and query, before the mask.
struct PositionBias {
  enum class Kind {
    none,
    slopes,   ///< of each head, times the distance `key - query` (Press et al., "ALiBi", 2021)
    buckets,  ///< a value for each head and bucket of distances (Raffel et al., "T5", 2019)
  };
  Kind kind = Kind::none;
  std::int64_t buckets = 0;   ///< how many; without `causal` half of them for keys ahead
  std::int64_t farthest = 0;  ///< distances from here on share the last bucket

  bool operator==(const PositionBias&) const = default;
};

/// Queries grow with the logarithm of their position: times `1 + scale ln(1 + floor((p + 1) /
/// step))`, as in Llama 4. A step of 0 leaves them.
struct Temperature {
  double step = 0;
  double scale = 0;

  bool operator==(const Temperature&) const = default;
};

/// Keys and values that are made of a latent, a narrow vector for each token, which is all that a
/// cache has to keep (DeepSeek-AI, "DeepSeek-V2", 2024; "multi-head latent attention").
struct Latent {
  std::int64_t rank = 0;        ///< its width; 0: keys and values are made of the input
  std::int64_t query_rank = 0;  ///< width of another one that queries are made of; 0: of x
  /// The last values of a key, made of x, which all heads share. They and the last ones of a query
  /// are what rotary positions turn.
  std::int64_t shared = 0;
  double epsilon = 1e-6;  ///< of the root-mean-square norms of both, above 0

  bool operator==(const Latent&) const = default;
};

/// What is fixed when weights are packed: `q, k, v = x W (+ b)`, norms and rotary positions of q
/// and k, `softmax(q k^T * scale) v` for each head, heads merged, then an optional output
/// projection.
struct HEADROOM_API LayerConfig {
  std::int64_t d_in = 0;           ///< width of the input
  std::int64_t d_out = 0;          ///< total width of all heads' queries; a multiple of `heads`
  std::int64_t heads = 1;          ///< H
  bool causal = true;              ///< a row sees no key after its own
  bool qkv_bias = false;           ///< the query, key and value projections add a bias
  std::int64_t d_proj = 0;         ///< width of the output projection (with bias); 0 for none
  double dropout = 0;              ///< probability that an attention weight is dropped, in [0, 1)
  std::uint64_t dropout_seed = 0;  ///< key of the dropout pattern
  /// Heads of keys and values, a divisor of `heads`: query heads `g * n` to `g * n + n - 1` share
  /// key head `g`, with `n = heads / kv_heads` (Ainslie et al., "GQA", 2023). 0: as many as
  /// `heads`.
  std::int64_t kv_heads = 0;
  std::int64_t value_dim = 0;  ///< width of a head's values, and of what it gives; 0: `head_dim()`
  /// The most keys that a row sees back, its own included; without `causal` as many ahead. 0: all.
  std::int64_t window = 0;
  /// A causal row sees no key of another chunk of so many positions; 0: there are no chunks.
  std::int64_t chunk = 0;
  double clip = 0;  ///< queries, keys and values are clamped to +- this; 0: they are not
  Rotary rotary = {};
  QueryKeyNorm norm = {};
  double scale = 0;    ///< of scores; 0: `1 / sqrt(head_dim)`
  double softcap = 0;  ///< scaled scores become `c tanh(s / c)`, before any mask; 0: they stay
  /// Each head has one more logit in the sum of its softmax, `WeightViews::sinks`, without a value
  /// (Xiao et al., "Attention Sinks", 2023).
  bool sinks = false;
  PositionBias position_bias = {};  ///< its values are `WeightViews::position_bias`
  Temperature temperature = {};
  /// What heads give is multiplied by `sigmoid(x W_g)`, with `WeightViews::gate`, before the output
  /// projection.
  bool gate = false;
  /// Its weights are `WeightViews::key_down`, `query_down` and their norms.
  Latent latent = {};
  /// Width of a second input that keys and values are made of (cross-attention); 0: made of x.
  std::int64_t d_memory = 0;

  /// Width of one head, `d_out / heads`.
  std::int64_t head_dim() const { return d_out / heads; }
  /// Heads of keys and values.
  std::int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  /// Width of all keys of a token, `key_heads() * head_dim()`; without `value_dim` of all values
  /// as well.
  std::int64_t kv_width() const { return key_heads() * head_dim(); }
  /// Width of a head's values, and of what it gives.
  std::int64_t head_value_dim() const { return value_dim > 0 ? value_dim : head_dim(); }
  /// Width of all values of a token, `key_heads() * head_value_dim()`.
  std::int64_t value_width() const { return key_heads() * head_value_dim(); }
  /// Width of what all heads give for a token, `heads * head_value_dim()`; without `value_dim` it
  /// is `d_out`.
  std::int64_t context_width() const { return heads * head_value_dim(); }
  /// Width of the input that keys and values are made of, or their latent.
  std::int64_t key_input() const { return d_memory > 0 ? d_memory : d_in; }
  /// Values of `WeightViews::query_norm`; 0 where there are none.
  std::int64_t query_norm_width() const { return norm_width(d_out); }
  /// Values of `WeightViews::key_norm`; 0 where there are none.
  std::int64_t key_norm_width() const { return norm_width(kv_width()); }
  /// Rows of `WeightViews::position_bias`, of a value for each head; 0 where there are none.
  std::int64_t position_bias_rows() const {
    if (position_bias.kind == PositionBias::Kind::slopes) return 1;
    return position_bias.kind == PositionBias::Kind::buckets ? position_bias.buckets : 0;
  }
  bool is_latent() const { return latent.rank > 0; }
  /// Rows of the query's weights: `d_in`, or the width of its latent.
  std::int64_t query_depth() const { return latent.query_rank > 0 ? latent.query_rank : d_in; }
  /// Rows of the weights of keys and values: `key_input()`, or the width of their latent.
  std::int64_t key_depth() const { return is_latent() ? latent.rank : key_input(); }
  /// Values of a key that its head has for itself.
  std::int64_t own_key_dim() const { return head_dim() - latent.shared; }
  /// Columns of the key's weights: `kv_width()`, without what heads share.
  std::int64_t own_key_width() const { return key_heads() * own_key_dim(); }
  /// A token's latent with what heads share of its key.
  std::int64_t latent_width() const { return latent.rank + latent.shared; }
  /// Values that a cache keeps of a token: keys and values, or `latent_width()`.
  std::int64_t cached_width() const {
    return is_latent() ? latent_width() : kv_width() + value_width();
  }
  /// What scores are multiplied by.
  double score_scale() const;
  /// Width of `y`: `d_proj`, or `context_width()` without an output projection.
  std::int64_t output_width() const { return d_proj > 0 ? d_proj : context_width(); }

  bool operator==(const LayerConfig&) const = default;

  /// @throws InvalidArgument naming the field, if a width is below 1, `d_out` is not a multiple of
  ///         `heads` or `heads` not one of `kv_heads` (the message names the nearest that are),
  ///         `dropout` is not in [0, 1), another field breaks a rule of its own, or a product of
  ///         sizes does not fit in 63 bits.
  void validate() const;

  /// Such as `D768_H12`; what differs from a plain causal layer with an output projection of its
  /// own width follows, such as `_nomask` or `_K8`.
  std::string id() const;

 private:
  std::int64_t norm_width(std::int64_t width) const {
    if (norm.over == QueryKeyNorm::Over::none || !norm.weighted) return 0;
    return norm.over == QueryKeyNorm::Over::width ? width : head_dim();
  }
};

}  // namespace headroom
