// The layer of a cell whose sequences have a past, and how that past gets into its cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headroom/shape.hpp"

namespace headroom::plan {

/// Tokens of a sequence that fill a cache in one call: enough for full tiles, and workspace for
/// them is small beside the weights.
inline constexpr std::int64_t kFillTokens = 256;

/// The shape that the layer of a cell is made for. A layer takes any call up to it, and one of a
/// single token would have to fill its cache token by token.
inline Shape layer_shape(const Shape& shape) {
  if (shape.past == 0) return shape;
  Shape layer = shape;
  layer.tokens = std::max(shape.tokens, std::min(shape.past, kFillTokens));
  layer.lengths.clear();
  return layer;
}

/// All of the past as one call: what filling the cache costs.
inline Shape fill_shape(const Shape& shape) {
  Shape fill = shape;
  fill.tokens = shape.past;
  fill.past = 0;
  fill.lengths.clear();
  return fill;
}

}  // namespace headroom::plan
