// Keys and values of a cache in eight bits: numbers that share a scale, an fp16 number.
//
// A token's values of a head share one. Keys share one by channel over blocks of 64 positions,
// because outliers live in channels. A row sees the keys of its own block as they are and those of
// earlier blocks rounded, and values always rounded: a function of positions alone, so that a row
// has the same bits however it was reached, and no block is rounded twice.
#pragma once

#include <cstdint>

#include "core/element/convert.hpp"
#include "headroom/export.h"

namespace headroom {

/// Keys of a block.
inline constexpr std::int64_t kCacheBlock = 64;

/// Where the block of a position begins: of the keys that a row there sees, those from here on are
/// not rounded.
[[gnu::always_inline]] constexpr std::int64_t cache_block(std::int64_t position) {
  return position / kCacheBlock * kCacheBlock;
}

/// What a number has to be limited to.
inline constexpr float kMostByte = 127;

/// Each value becomes `round(value / d) * d`, halves to even, with the scale `d = max |values| /
/// 127` rounded to fp16. Where a value is no number, or too large for a finite scale, all of them
/// become no number or infinite.
/// @param stride from one of the values to the next
HEADROOM_API void round_by_bytes(float* values, std::int64_t count, std::int64_t stride = 1);

}  // namespace headroom
