// Rows of x as products of bytes read them: rounded to 8 bits by groups of the depth. Everything is
// exact or one rounding of an element, so rows have the same bits at every level.
#pragma once

#include "simd/kernels/bytes/byte_dots.hpp"
#include "simd/kernels/rows.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Words of 32 bits that hold the values of a group: four bytes, or two numbers of 16 bits.
inline constexpr int kGroupWords = kDotsOfBytes ? kGroup / 4 : kGroup / 2;

/// Numbers of 32 bits that a group of a row takes: its words, its scale, and what its sums start
/// from.
inline constexpr int kGroupNumbers = kGroupWords + 2;

/// Rows that are multiplied together: two sums for each element of their tile, one of integers.
inline constexpr int kByteRows = (kTileRows + 1) / 2;

/// A group of one row.
struct ByteGroup {
  float scale;
  std::int32_t values[kGroup];
};

/// Rounds to nearest even what is at most `most`, and a little more.
HEADROOM_INLINE Bits rounded(const Vec& v, float most) {
  return bits_of(in_low_bits(v, most)) - __builtin_bit_cast(std::uint32_t, kWholeNumbers);
}

HEADROOM_INLINE std::uint32_t largest_lane(const Bits& v) {
  std::uint32_t most = 0;
  for (int i = 0; i < kLanes; ++i) most = v[i] > most ? v[i] : most;
  return most;
}

/// The scale is a 127th of the largest size. A value that is not finite makes it NaN, and with it
/// all results of the row.
HEADROOM_INLINE void round_group(const float* x, ByteGroup& group) {
  constexpr float kMost = 127;
  Bits sizes = bits_of(load(x)) & kMagnitude;
#pragma GCC unroll 8
  for (int i = kLanes; i < kGroup; i += kLanes) {
    const Bits next = bits_of(load(x + i)) & kMagnitude;
    sizes = next > sizes ? next : sizes;
  }
  const std::uint32_t largest = largest_lane(sizes);
  const float most = __builtin_bit_cast(float, largest);
  // The inverse of a small number is infinite, unless both it and the values are larger.
  const float larger = most < 0x1p-60F ? 0x1p60F : 1.0F;
  const float inverse = largest == 0 || largest >= kInfinityBits ? 0.0F : kMost / (most * larger);
  group.scale = largest >= kInfinityBits ? __builtin_nanf("") : most * (1 / kMost);
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; i += kLanes) {
    // Of what is not finite nothing is left but the scale.
    const Vec finite = largest >= kInfinityBits ? Vec(0.0F) : load(x + i);
    const Bits values = rounded(finite * Vec(larger) * Vec(inverse), kMost);
    __builtin_memcpy(group.values + i, &values, sizeof(values));
  }
}

/// Four bytes of a lane are rows of the depth a quarter of a group apart, so that no value of x
/// changes its lane to get there. Without an instruction for four bytes the first and the third,
/// and the second and the fourth, are two pairs of 16 bits.
template <int OFFSET>
HEADROOM_INLINE void put_group(const ByteGroup& group, std::int64_t rows, std::int32_t* to) {
  constexpr int kQuarter = kGroup / 4;
  const std::int32_t* q = group.values;
  std::int32_t sum = 0;
  for (int i = 0; i < kGroup; ++i) sum += q[i];
  std::uint32_t words[kGroupWords];
  for (int j = 0; j < kQuarter; ++j) {
    const auto part = [&](int i, std::uint32_t mask, int shift) __attribute__((always_inline)) {
      return (static_cast<std::uint32_t>(q[j + i * kQuarter]) & mask) << shift;
    };
    if constexpr (kDotsOfBytes) {
      words[j] = part(0, 255, 0) | part(1, 255, 8) | part(2, 255, 16) | part(3, 255, 24);
    } else {
      words[2 * j] = part(0, 0xffff, 0) | part(2, 0xffff, 16);
      words[2 * j + 1] = part(1, 0xffff, 0) | part(3, 0xffff, 16);
    }
  }
  for (int j = 0; j < kGroupWords; ++j) to[j * rows] = static_cast<std::int32_t>(words[j]);
  to[kGroupWords * rows] = __builtin_bit_cast(std::int32_t, group.scale);
  to[(kGroupWords + 1) * rows] = kDotsOfAlike && OFFSET == kSignOffset ? 0 : -OFFSET * sum;
}

/// Rounds neighbouring rows that are multiplied together.
/// @param to of each group `kGroupNumbers` times its rows
/// @tparam OFFSET that weights have, so that their bytes have no sign
template <int OFFSET, class A>
HEADROOM_INLINE void round_rows(const A* x, std::int64_t stride, std::int64_t rows,
                                std::int64_t depth, std::int32_t* to) {
  alignas(64) float piece[kGroup];
  ByteGroup group;
  for (std::int64_t k = 0; k < depth; k += kGroup) {
    const std::int64_t count = depth - k < kGroup ? depth - k : kGroup;
    for (std::int64_t r = 0; r < rows; ++r) {
      const A* from = x + r * stride + k;
      for (std::int64_t i = count; i < kGroup; ++i) piece[i] = 0;
      copy_values_of(from, count, piece);
      round_group(piece, group);
      put_group<OFFSET>(group, rows, to + r);
    }
    to += kGroupNumbers * rows;
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
