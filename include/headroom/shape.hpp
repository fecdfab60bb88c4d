/// @file
/// The shape of one multi-head attention layer and all that can be computed from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/export.h"
#include "headroom/precision.hpp"

namespace headroom {

/// Rotary position embedding of queries and keys (Su et al., "RoFormer", 2021): pair `i` of a head
/// at position `p` is turned by the angle `p * scale * base^(-2 i / head_dim)`.
struct Rotary {
  /// Which two values of a head make a pair.
  enum class Pairs {
    none,        ///< queries and keys stay as they are
    neighbours,  ///< `2 i` and `2 i + 1`, as in RoFormer and GPT-J
    halves,      ///< `i` and `i + head_dim / 2`, as in Llama's checkpoints for `transformers`
  };
  Pairs pairs = Pairs::none;
  double base = 10000;
  double scale = 1;  ///< multiplies positions; below 1 stretches a context

  bool operator==(const Rotary&) const = default;
};

/// Floating-point operations of one forward pass: a multiplication and an addition count as two,
/// and masked products do not count.
struct FlopCount {
  /// `2 * B * T * d_in * 3 * d_out`; with fewer key heads the width is `d_out + 2 * kv_width()`.
  double qkv = 0;
  /// `4 * d_out` for each pair of a row and a key that it sees: `4 * B * T * T * d_out`, causal
  /// `2 * B * T * (T + 1) * d_out`; a past, a window and lengths change the number of pairs.
  double attention = 0;
  double output = 0;  ///< `2 * B * T * d_out * d_proj`

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

/// A layer and a call of it: what a benchmark names and measures, and the short way to make a
/// layer.
///
/// The layer: `q, k, v = x W (+ b)`, `softmax(q k^T / sqrt(head_dim)) v` for each head, heads
/// merged, then an optional output projection. Its sizes and options are fixed when weights are
/// packed.
///
/// The call: how many tokens come, and what came before them. A layer made for a shape takes any
/// call up to it; see `Attention::forward`.
///
/// Without `d_in` there is no layer: queries, keys and values are given, as `DotProductAttention`
/// takes them. Then `past` counts the keys before that of the first query.
struct HEADROOM_API Shape {
  std::int64_t batch = 1;          ///< call: B, independent sequences
  std::int64_t tokens = 0;         ///< call: T, tokens per sequence, the most if `lengths` is given
  std::int64_t d_in = 0;           ///< width of the input; 0 where heads are given
  std::int64_t d_out = 0;          ///< total width of all heads; a multiple of `heads`
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
  std::int64_t window = 0;  ///< the most keys a causal row sees, its own included; 0: all
  Rotary rotary = {};
  /// Width of a second input that keys and values are made of (cross-attention); 0: made of x.
  std::int64_t d_memory = 0;
  std::int64_t past = 0;           ///< call: tokens of each sequence that are in the cache before
  std::int64_t memory_tokens = 0;  ///< call: tokens per sequence of the second input
  /// Call: tokens of each of `batch` sequences, whose rows follow each other without gaps. Empty:
  /// `tokens` for all.
  std::vector<std::int64_t> lengths = {};

  /// Whether queries, keys and values are made of x, by weights; else they are given.
  bool has_projections() const { return d_in > 0; }
  /// Width of one head, `d_out / heads`.
  std::int64_t head_dim() const { return d_out / heads; }
  /// Heads of keys and values.
  std::int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  /// Width of all keys or all values of a token, `key_heads() * head_dim()`.
  std::int64_t kv_width() const { return key_heads() * head_dim(); }
  /// Width of the input that keys and values are made of.
  std::int64_t key_input() const { return d_memory > 0 ? d_memory : d_in; }
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
  /// Width of `y`: `d_proj`, or `d_out` without an output projection.
  std::int64_t output_width() const { return d_proj > 0 ? d_proj : d_out; }

  bool operator==(const Shape&) const = default;

  /// @throws InvalidArgument naming the field, if a size is out of range, `d_out` is not a multiple
  ///         of `heads` or `heads` not one of `kv_heads` (the message names the nearest that are),
  ///         `dropout` is not in [0, 1), `rotary`, `window`, `d_memory` and `lengths` break a rule
  ///         of theirs, or a product of sizes does not fit in 63 bits.
  void validate() const;

  /// @pre the shape is valid.
  FlopCount flops() const;

  /// @pre the shape is valid.
  ByteCount bytes(Dtype dtype = Dtype::f32) const;

  /// Such as `B1_T1024_D768_H12`; what differs from a plain causal layer with an output projection
  /// of its own width follows, such as `_nomask` or `_K8_P4096`; `_qkv` where heads are given.
  std::string id() const;
};

}  // namespace headroom
