// The instruction TDPBF16PS in software, with the same bits.
//
// For each sum c: e and o start at +0; for each of 16 pairs in order e takes a multiply-add of the
// first of the pair, o of the second; then c becomes c + (e + o). Every step rounds to nearest
// even. Denormal operands and results are zeros of their sign, judged after rounding as if the
// exponent were unbounded. Of several NaNs a comes first, then b, then the sum; e before o; c
// before them. A NaN is quieted and keeps its payload; an invalid operation gives the negative
// default NaN. (Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2;
// checked against a processor.)
#pragma once

#include "simd/tiles/operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE std::uint32_t word_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
HEADROOM_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline constexpr std::uint32_t kLeastNormal = 0x00800000U;

HEADROOM_INLINE bool is_nan(float x) { return (word_of(x) & kMagnitude) > kInfinityBits; }
HEADROOM_INLINE float quieted(float x) { return float_of(word_of(x) | 0x00400000U); }

HEADROOM_INLINE float flushed(float x) {
  const std::uint32_t bits = word_of(x);
  return (bits & kMagnitude) < kLeastNormal ? float_of(bits & ~kMagnitude) : x;
}

/// What an operation on numbers gave: the default NaN where it was invalid.
HEADROOM_INLINE float number_or_default(float x) { return is_nan(x) ? float_of(0xffc00000U) : x; }

/// a b + c of numbers that are not denormal.
[[gnu::noinline]] inline float multiply_add_flushed(float a, float b, float c) {
  const float result = __builtin_fmaf(a, b, c);
  const std::uint32_t size = word_of(result) & kMagnitude;
  if (size == 0 || size > kLeastNormal) return number_or_default(result);
  // At the border the rounding to a denormal number hides which side the unbounded result is on.
  const float wide = __builtin_fmaf(a * 0x1p64F, b, c * 0x1p64F);
  const bool tiny = (word_of(wide) & kMagnitude) < word_of(0x1p-62F);
  return tiny ? float_of(word_of(result) & ~kMagnitude) : result;
}

HEADROOM_INLINE float exact_step(float a, float b, float c) {
  if (is_nan(a)) return quieted(a);
  if (is_nan(b)) return quieted(b);
  if (is_nan(c)) return quieted(c);
  return multiply_add_flushed(flushed(a), flushed(b), flushed(c));
}

HEADROOM_INLINE float exact_sum(float a, float b) {
  if (is_nan(a)) return quieted(a);
  if (is_nan(b)) return quieted(b);
  return multiply_add_flushed(flushed(a), 1.0F, flushed(b));
}

HEADROOM_INLINE float widened(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

/// Any bits at all, slowly.
inline void exact_tile_product(float* c, const std::uint16_t* a, std::int64_t b_row,
                               const std::uint16_t* b) {
  for (std::int64_t i = 0; i < kTileSide; ++i) {
    for (std::int64_t j = 0; j < kTileSide; ++j) {
      float even = 0;
      float odd = 0;
      for (std::int64_t k = 0; k < kTileDepth; k += 2) {
        const std::uint16_t* left = a + i * kTileDepth + k;
        const std::uint16_t* right = b + k / 2 * b_row + 2 * j;
        even = exact_step(widened(left[0]), widened(right[0]), even);
        odd = exact_step(widened(left[1]), widened(right[1]), odd);
      }
      float& sum = c[i * kTileSide + j];
      sum = exact_sum(sum, exact_sum(even, odd));
    }
  }
}

/// Whether every magnitude is zero or between `least` and `most`, in floats' bits.
HEADROOM_INLINE bool all_between(const std::uint32_t* words, std::int64_t count,
                                 std::uint32_t least, std::uint32_t most) {
  Bits outside{};
  for (std::int64_t i = 0; i < count; i += kLanes) {
    Bits bits;
    __builtin_memcpy(&bits, words + i, sizeof(bits));
    const Bits size = bits & kMagnitude;
    outside |= static_cast<Bits>((size - least) > (most - least)) & static_cast<Bits>(size != 0U);
  }
  return !any_lane(outside);
}

/// The same bits by vectors. Products of such operands are exact and no sum is denormal, so that
/// neither the rounding of a product nor a flush matters: all are multiples of 2^-94.
/// @return whether the operands allow it; c is as before if not
HEADROOM_INLINE bool fast_tile_product(float* c, const std::uint16_t* a, std::int64_t b_row,
                                       const std::uint16_t* b) {
  constexpr std::uint32_t kLow = (127U - 40U) << 23;
  constexpr std::uint32_t kHigh = (127U + 40U) << 23;
  alignas(64) std::uint32_t left[2][kLeftTile / 2];
  alignas(64) std::uint32_t right[2][kLeftTile / 2];
  for (std::int64_t r = 0; r < kTileSide; ++r) {
    for (std::int64_t p = 0; p < kTileSide; ++p) {
      for (int h = 0; h < 2; ++h) {
        left[h][r * kTileSide + p] = static_cast<std::uint32_t>(a[r * kTileDepth + 2 * p + h])
                                     << 16;
        right[h][r * kTileSide + p] = static_cast<std::uint32_t>(b[r * b_row + 2 * p + h]) << 16;
      }
    }
  }
  std::uint32_t sums[kSums];
  __builtin_memcpy(sums, c, sizeof(sums));
  if (!all_between(left[0], kLeftTile, kLow, kHigh) ||
      !all_between(right[0], kLeftTile, kLow, kHigh) ||
      !all_between(sums, kSums, (127U - 94U) << 23, (127U + 100U) << 23)) {
    return false;
  }
  for (std::int64_t i = 0; i < kTileSide; ++i) {
    for (std::int64_t j = 0; j < kTileSide; j += kLanes) {
      Vec half[2] = {Vec(0.0F), Vec(0.0F)};
      for (std::int64_t p = 0; p < kTileSide; ++p) {
        for (int h = 0; h < 2; ++h) {
          Bits of_right;
          __builtin_memcpy(&of_right, right[h] + p * kTileSide + j, sizeof(of_right));
          half[h] =
              multiply_add(Vec(float_of(left[h][i * kTileSide + p])), vec_of(of_right), half[h]);
        }
      }
      float* sum = c + i * kTileSide + j;
      store(sum, load(sum) + (half[0] + half[1]));
    }
  }
  return true;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
