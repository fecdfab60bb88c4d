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

/// The largest magnitude as bits, which have the order of magnitudes; a NaN's are the largest.
/// @tparam Level any type that only code of one instruction set has, so that none links another's
template <class Level>
[[gnu::always_inline]] inline std::int32_t largest_magnitude_as(const float* values,
                                                                std::int64_t count,
                                                                std::int64_t stride = 1) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t size = __builtin_bit_cast(std::int32_t, values[i * stride]) & 0x7fffffff;
    largest = size > largest ? size : largest;
  }
  return largest;
}

/// A number over a scale, as a byte. The product is rounded before it is added, on every machine:
/// limits stand in between.
template <class Level>
[[gnu::always_inline]] inline std::int8_t byte_of_as(float value, float inverse) {
  // Of a sum with it the last bit is one, and its low byte is the other's, in two's complement.
  constexpr float kToNearest = 0x1.8p23F;
  const float steps = value * inverse;
  const float limited = steps > kMostByte ? kMostByte : steps < -kMostByte ? -kMostByte : steps;
  return static_cast<std::int8_t>(__builtin_bit_cast(std::uint32_t, limited + kToNearest));
}

/// The loops of a rounding, by one instruction set.
struct ByteLoops {
  std::int32_t (*largest_magnitude)(const float* values, std::int64_t count);
  void (*to_bytes)(const float* values, std::int64_t count, float inverse, std::int8_t* bytes);
};

template <class Level>
std::int32_t largest_magnitude(const float* values, std::int64_t count) {
  return largest_magnitude_as<Level>(values, count);
}
template <class Level>
void to_bytes(const float* values, std::int64_t count, float inverse, std::int8_t* bytes) {
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = byte_of_as<Level>(values[i], inverse);
}
/// For whatever instruction set they are compiled for; the same bits by each.
template <class Level>
inline constexpr ByteLoops kByteLoops{largest_magnitude<Level>, to_bytes<Level>};

/// `bytes[i] = round(values[i] / d)`, halves to even, with the scale `d = max |values| / 127`.
/// Where a value is no number, or too large for a finite scale, `d` is NaN or infinite, and all
/// that is made of it is no number either.
/// @return the scale
HEADROOM_API F16 round_to_bytes(const float* values, std::int64_t count, std::int8_t* bytes,
                                const ByteLoops& loops);

/// The same, and back.
/// @param stride from one of the values to the next
HEADROOM_API void round_by_bytes(float* values, std::int64_t count, std::int64_t stride = 1);

}  // namespace headroom
