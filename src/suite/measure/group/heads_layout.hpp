// Where queries, keys and values lie that are given to a cell.
#pragma once

#include <cstdint>

#include "core/case.hpp"
#include "headroom/dot_product.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::measure {

/// Queries and outputs, token by token, as products leave them.
template <class T>
BasicHeadsView<T> query_heads(T* data, const Case& shape) {
  return token_major(data, shape.batch, shape.tokens, shape.heads, shape.head_dim());
}

/// Keys and values likewise; or, after a past, as a cache keeps them: head by head, so that a step
/// reads the keys of a head in one piece.
template <class T>
BasicHeadsView<T> key_heads(T* data, const Case& shape) {
  return shape.past > 0
             ? head_major(data, shape.batch, shape.key_heads(), shape.context(), shape.head_dim())
             : token_major(data, shape.batch, shape.context(), shape.key_heads(), shape.head_dim());
}

/// From rows of all heads of a token to where `key_heads` has them.
/// @param convert called with floats, their number, and where they go
template <class T, class Convert>
void place_keys(const Matrix& from, const Case& shape, T* to, Convert convert) {
  const BasicHeadsView<T> view = key_heads(to, shape);
  for (std::int64_t row = 0; row < from.rows; ++row) {
    T* token = view.data + row / shape.context() * view.batch_stride +
               row % shape.context() * view.token_stride;
    for (std::int64_t head = 0; head < view.heads; ++head) {
      convert(from.view().row(row) + head * view.head_dim, view.head_dim,
              token + head * view.head_stride);
    }
  }
}

/// What the shape of a cell asks of `DotProductAttention`.
inline DotProductSizes sizes_of(const Case& shape) {
  return {shape.batch, shape.tokens,      shape.context(),
          shape.heads, shape.key_heads(), shape.head_dim()};
}
inline ScoreRule rule_of(const Case& shape) {
  return {shape.causal, shape.window, shape.scale, shape.softcap};
}

/// Those of `gaussian_weights`; none where heads are given.
SplitWeights drawn_weights(const Case& shape, std::uint64_t seed);

/// Unit Gaussians: queries as rows of `d_out`, keys and values as `batch * context()` rows of
/// `kv_width()`, each of the three other ones.
Matrix gaussian_queries(const Case& shape, std::uint64_t seed);
Matrix gaussian_keys(const Case& shape, std::uint64_t seed);
Matrix gaussian_values(const Case& shape, std::uint64_t seed);

}  // namespace headroom::measure
