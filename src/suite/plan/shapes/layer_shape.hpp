// The layer of a cell whose sequences have a past, and how that past gets into its cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/case.hpp"

namespace headroom::plan {

/// Tokens of a sequence that fill a cache in one call: enough for full tiles, and workspace for
/// them is small beside the weights.
inline constexpr std::int64_t kFillTokens = 256;

/// What the layer of a cell is made for. A layer takes any call up to it, and one of a single token
/// would have to fill its cache token by token.
inline Case layer_shape(const Case& shape) {
  Case layer = shape;
  layer.tokens = std::max(shape.tokens, std::min(shape.past, kFillTokens));
  layer.lengths.clear();  // there is room for `tokens` of each
  return layer;
}

/// All of the past as one call: what filling the cache costs.
inline Case fill_shape(const Case& shape) {
  Case fill = shape;
  fill.tokens = shape.past;
  fill.past = 0;
  fill.lengths.clear();
  return fill;
}

}  // namespace headroom::plan
