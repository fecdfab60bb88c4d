/// @file
/// The shape of one multi-head attention layer and all that can be computed from it.
#pragma once

#include <cstdint>
#include <string>

#include "headroom/export.h"

namespace headroom {

/// Element type of activations and weights.
enum class Dtype { f32 };

/// Floating-point operations of one forward pass: a multiplication and an addition count as two,
/// and masked products do not count.
struct FlopCount {
  double qkv = 0;        ///< `2 * B * T * d_in * 3 * d_out`
  double attention = 0;  ///< `4 * B * T * T * d_out`, causal `2 * B * T * (T + 1) * d_out`
  double output = 0;     ///< `2 * B * T * d_out * d_proj`

  double total() const { return qkv + attention + output; }
};

/// Bytes of float32 data of one layer, before any backend packs or pads them.
struct ByteCount {
  std::int64_t input = 0;    ///< `x`: `B * T * d_in`
  std::int64_t output = 0;   ///< `y`: `B * T * output_width()`
  std::int64_t weights = 0;  ///< all matrices and biases
};

/// Sizes and options of a layer: `q, k, v = x W (+ b)`, `softmax(q k^T / sqrt(head_dim)) v` for
/// each head, heads merged, then an optional output projection.
struct HEADROOM_API Shape {
  std::int64_t batch = 1;          ///< B, independent sequences
  std::int64_t tokens = 0;         ///< T, tokens per sequence
  std::int64_t d_in = 0;           ///< width of the input
  std::int64_t d_out = 0;          ///< total width of all heads; a multiple of `heads`
  std::int64_t heads = 1;          ///< H
  bool causal = true;              ///< row i attends to columns 0..i only
  bool qkv_bias = false;           ///< the query, key and value projections add a bias
  std::int64_t d_proj = 0;         ///< width of the output projection (with bias); 0 for none
  double dropout = 0;              ///< probability that an attention weight is dropped, in [0, 1)
  std::uint64_t dropout_seed = 0;  ///< key of the dropout pattern
  Dtype dtype = Dtype::f32;

  /// Width of one head, `d_out / heads`.
  std::int64_t head_dim() const { return d_out / heads; }
  /// Tokens of all sequences, `B * T`.
  std::int64_t rows() const { return batch * tokens; }
  /// Width of `y`: `d_proj`, or `d_out` without an output projection.
  std::int64_t output_width() const { return d_proj > 0 ? d_proj : d_out; }

  bool operator==(const Shape&) const = default;

  /// @throws InvalidArgument naming the field, if a size is out of range, `d_out` is not a multiple
  ///         of `heads` (the message names the nearest widths that are), `dropout` is not in
  ///         [0, 1), or a product of sizes does not fit in 63 bits.
  void validate() const;

  /// @pre the shape is valid.
  FlopCount flops() const;

  /// @pre the shape is valid.
  ByteCount bytes() const;

  /// Such as `B1_T1024_D768_H12`; options that differ from a plain causal layer with an output
  /// projection of its own width follow, such as `_nomask` or `_bias`.
  std::string id() const;
};

}  // namespace headroom
