// The instruction TDPFP16PS in software, with the same bits.
//
// The order of sums is that of TDPBF16PS (emulator.hpp). Products of two fp16 are exact in float32,
// so that nothing tells a multiply-add from a product and a sum; all of them are multiples of 2^-48
// and below 2^33, so that neither they nor their sums overflow or are denormal. Denormal operands
// count, a denormal c is zero. Of several NaNs a comes first, then b, then the sum; e before o; c
// before them. A NaN is quieted and keeps its payload; an invalid operation gives the negative
// default NaN. (Checked against a processor.)
#pragma once

#include "simd/tiles/emulator.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr std::uint32_t kFp16Infinity = 0x7c00U;

/// The float of an fp16; a NaN keeps its payload.
HEADROOM_INLINE float widened_fp16(std::uint16_t half) {
  const std::uint32_t size = half & 0x7fffU;
  const std::uint32_t exponents = size >= kFp16Infinity ? 224U << 23 : 112U << 23;
  const float normal = float_of((size << 13) + exponents);
  const float denormal = static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24F;
  const float value = size < 0x400U ? denormal : normal;
  return float_of(word_of(value) | static_cast<std::uint32_t>(half & 0x8000U) << 16);
}

HEADROOM_INLINE float exact_fp16_step(float a, float b, float sum) {
  if (is_nan(a)) return quieted(a);
  if (is_nan(b)) return quieted(b);
  if (is_nan(sum)) return quieted(sum);
  return number_or_default(__builtin_fmaf(a, b, sum));
}

HEADROOM_INLINE float exact_fp16_sum(float a, float b) {
  if (is_nan(a)) return quieted(a);
  if (is_nan(b)) return quieted(b);
  return number_or_default(flushed(a) + b);
}

/// Any bits at all, slowly.
[[gnu::noinline]] inline void exact_fp16_product(float* c, const std::uint16_t* a,
                                                 std::int64_t b_row, const std::uint16_t* b) {
  for (std::int64_t i = 0; i < kTileSide; ++i) {
    for (std::int64_t j = 0; j < kTileSide; ++j) {
      float even = 0;
      float odd = 0;
      for (std::int64_t k = 0; k < kTileDepth; k += 2) {
        const std::uint16_t* left = a + i * kTileDepth + k;
        const std::uint16_t* right = b + k / 2 * b_row + 2 * j;
        even = exact_fp16_step(widened_fp16(left[0]), widened_fp16(right[0]), even);
        odd = exact_fp16_step(widened_fp16(left[1]), widened_fp16(right[1]), odd);
      }
      float& sum = c[i * kTileSide + j];
      sum = exact_fp16_sum(sum, exact_fp16_sum(even, odd));
    }
  }
}

HEADROOM_INLINE bool all_finite_fp16(const std::uint16_t* values, std::int64_t count) {
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    found |= (values[i] & kFp16Infinity) == kFp16Infinity ? 1U : 0U;
  }
  return found == 0;
}

/// The same bits by vectors: plain arithmetic has them where a and b are finite and c is zero or
/// normal.
/// @return whether the operands allow it; c is as before if not
[[gnu::noinline]] inline bool fast_fp16_product(float* c, const std::uint16_t* a,
                                                std::int64_t b_row, const std::uint16_t* b) {
  std::uint32_t sums[kSums];
  __builtin_memcpy(sums, c, sizeof(sums));
  bool allowed =
      all_between(sums, kSums, kLeastNormal, kInfinityBits - 1U) && all_finite_fp16(a, kLeftTile);
  for (std::int64_t p = 0; p < kTileSide; ++p) {
    allowed = allowed && all_finite_fp16(b + p * b_row, kTileDepth);
  }
  if (!allowed) return false;
  alignas(64) float left[2][kLeftTile / 2];
  alignas(64) float right[2][kLeftTile / 2];
  for (std::int64_t r = 0; r < kTileSide; ++r) {
    for (std::int64_t p = 0; p < kTileSide; ++p) {
      for (int h = 0; h < 2; ++h) {
        left[h][r * kTileSide + p] = widened_fp16(a[r * kTileDepth + 2 * p + h]);
        right[h][r * kTileSide + p] = widened_fp16(b[r * b_row + 2 * p + h]);
      }
    }
  }
  for (std::int64_t i = 0; i < kTileSide; ++i) {
    for (std::int64_t j = 0; j < kTileSide; j += kLanes) {
      Vec half[2] = {Vec(0.0F), Vec(0.0F)};
      for (std::int64_t p = 0; p < kTileSide; ++p) {
        for (int h = 0; h < 2; ++h) {
          half[h] = multiply_add(Vec(left[h][i * kTileSide + p]),
                                 load(right[h] + p * kTileSide + j), half[h]);
        }
      }
      float* sum = c + i * kTileSide + j;
      store(sum, load(sum) + (half[0] + half[1]));
    }
  }
  return true;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
