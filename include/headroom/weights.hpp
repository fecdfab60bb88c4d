/// @file
/// Weights of a layer in the two arrangements that the project compares, and conversions.
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"
#include "headroom/view.hpp"

namespace headroom {

/// An owning row-major matrix without padding.
struct HEADROOM_API Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> values;

  Matrix() = default;
  /// A zero matrix.
  Matrix(std::int64_t rows, std::int64_t cols);

  MatrixView view() { return {values.data(), rows, cols, cols}; }
  ConstMatrixView view() const { return {values.data(), rows, cols, cols}; }
};

/// Weight splits: one matrix each for query, key and value. Head `h` owns columns `h * head_dim` to
/// `(h + 1) * head_dim` of the query's, and key head `g` those columns of the other two, which are
/// `d_in x d_out` as well in a layer without `kv_heads` and `d_memory`; with `value_dim` that is
/// the width of its values. A product is `y = x W + b`, so `nn.Linear.weight` is the transpose.
/// Bias vectors are empty where the layer has none. Of a latent layer (`LayerConfig::latent`) these
/// matrices are those behind the latents: a key head owns `own_key_dim()` columns of the key's.
struct SplitWeights {
  Matrix query;                             ///< `query_depth() x d_out`
  Matrix key;                               ///< `key_depth() x own_key_width()`
  Matrix value;                             ///< `key_depth() x value_width()`
  std::vector<float> query_bias;            ///< `d_out`, or empty
  std::vector<float> key_bias, value_bias;  ///< `kv_width()` and `value_width()`, or empty
  Matrix output;                            ///< `context_width() x d_proj`, or empty
  std::vector<float> output_bias;           ///< `d_proj`, or empty
  /// Weights of norms: `head_dim` each, over the width `d_out` and `kv_width()`, or empty.
  std::vector<float> query_norm, key_norm;
  std::vector<float> sinks;  ///< a logit for each query head, or empty
  Matrix gate;               ///< `d_in x context_width()`, or empty
  Matrix position_bias;      ///< slopes `1 x heads`, values `buckets x heads`, or empty
  Matrix query_down;         ///< `d_in x query_rank`, or empty
  Matrix key_down;           ///< `d_in x latent_width()`: latent, then what heads share, or empty
  /// Weights of the norms of both latents: `query_rank` and `rank`, or empty.
  std::vector<float> query_down_norm, key_down_norm;
};

/// The same where they lie, of any dtype, each for itself. What `nn.Linear` stores is read as it
/// is: `{weight, Dtype::bf16, d_out, d_in, d_in}.transposed()`. A bias is a matrix of one row.
struct HEADROOM_API WeightViews {
  WeightViews() = default;
  /// @throws InvalidArgument for a matrix that does not hold `rows * cols` values.
  // NOLINTNEXTLINE(google-explicit-constructor): a view is a view
  WeightViews(const SplitWeights& weights);

  ConstAnyMatrix query;                 ///< `query_depth() x d_out`
  ConstAnyMatrix key;                   ///< `key_depth() x own_key_width()`
  ConstAnyMatrix value;                 ///< `key_depth() x value_width()`
  ConstAnyMatrix query_bias;            ///< `1 x d_out`, or nothing
  ConstAnyMatrix key_bias, value_bias;  ///< one row as wide as these, or nothing
  ConstAnyMatrix output;                ///< `context_width() x d_proj`, or nothing
  ConstAnyMatrix output_bias;           ///< `1 x d_proj`, or nothing
  ConstAnyMatrix query_norm, key_norm;  ///< one row as long as in `SplitWeights`, or nothing
  ConstAnyMatrix sinks;                 ///< `1 x heads`, or nothing
  ConstAnyMatrix gate;                  ///< `d_in x context_width()`, or nothing
  ConstAnyMatrix position_bias;  ///< slopes `1 x heads`, values `buckets x heads`, or nothing
  ConstAnyMatrix query_down;     ///< `d_in x query_rank`, or nothing
  ConstAnyMatrix key_down;       ///< `d_in x latent_width()`, or nothing
  ConstAnyMatrix query_down_norm, key_down_norm;  ///< one row as long as in `SplitWeights`
};

/// The three small matrices of one head, as the textbook's wrapper keeps them.
struct HeadWeights {
  Matrix query;                                         ///< `query_depth() x head_dim`
  Matrix key;                                           ///< `key_depth() x own_key_dim()`
  Matrix value;                                         ///< `key_depth() x head_value_dim()`
  std::vector<float> query_bias, key_bias, value_bias;  ///< one for each column, or empty
};

/// H heads, each with its own matrices, and the shared output projection.
struct PerHeadWeights {
  std::vector<HeadWeights> heads;
  Matrix output;                                   ///< `context_width() x d_proj`, or empty
  std::vector<float> output_bias;                  ///< `d_proj`, or empty
  std::vector<float> query_norm, key_norm, sinks;  ///< as in `SplitWeights`
  Matrix gate, position_bias;                      ///< likewise
  Matrix query_down, key_down;
  std::vector<float> query_down_norm, key_down_norm;
};

/// Column slices of the split matrices, one head after the other. Query heads that share a key head
/// get a copy of it each.
/// @throws InvalidArgument if the weights do not fit the layer.
HEADROOM_API PerHeadWeights to_per_head(const LayerConfig& config, const SplitWeights& weights);

/// The heads' matrices side by side; of heads that share a key head, those of the first. Exact
/// inverse of `to_per_head`.
/// @throws InvalidArgument if the weights do not fit the layer.
HEADROOM_API SplitWeights to_split(const LayerConfig& config, const PerHeadWeights& weights);

/// A copy of weights as floats without gaps.
HEADROOM_API SplitWeights to_split(const WeightViews& weights);

/// @throws InvalidArgument naming the matrix or bias whose size does not fit the layer, that is a
///         null pointer, or whose strides reach beyond any memory.
HEADROOM_API void check_weights(const LayerConfig& config, const WeightViews& weights);

}  // namespace headroom
