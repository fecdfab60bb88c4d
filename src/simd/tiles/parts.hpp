// The parts that a precision cuts a number into, and the products of parts that it sums.
//
// Included only by files compiled once per level, see vec.hpp.
#pragma once

#include "simd/kernels/vec.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Indices of the parts of a and of b, counted from the largest.
struct PartPair {
  int a;
  int b;
};

/// Neighbours in the order share a part, which is then loaded once.
template <Precision P>
struct Parts;

// Truncated parts hold all 24 bits exactly, and none overflows; two rounded ones are closer than
// two truncated ones, and one truncated part would be biased.
template <>
struct Parts<Precision::bf16x9> {
  static constexpr int kCount = 3;
  static constexpr bool kTruncate = true;
  static constexpr int kProducts = 9;
  static constexpr PartPair kOrder[kProducts] = {{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1},
                                                 {1, 0}, {2, 0}, {2, 1}, {2, 2}};
};
template <>
struct Parts<Precision::bf16x6> {
  static constexpr int kCount = 3;
  static constexpr bool kTruncate = true;
  static constexpr int kProducts = 6;
  static constexpr PartPair kOrder[kProducts] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {0, 0}, {2, 0}};
};
template <>
struct Parts<Precision::bf16x3> {
  static constexpr int kCount = 2;
  static constexpr bool kTruncate = false;
  static constexpr int kProducts = 3;
  static constexpr PartPair kOrder[kProducts] = {{0, 1}, {0, 0}, {1, 0}};
};
template <>
struct Parts<Precision::bf16> {
  static constexpr int kCount = 1;
  static constexpr bool kTruncate = false;
  static constexpr int kProducts = 1;
  static constexpr PartPair kOrder[kProducts] = {{0, 0}};
};

/// Each lane rounded to nearest even, as far as its upper half goes. A NaN stays one: to round up a
/// payload of ones would carry into the sign, and leave a zero.
HEADROOM_INLINE Bits rounded_to_upper(const Bits& bits) {
  const Bits rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return (bits & kMagnitude) > kInfinityBits ? bits | 0x00400000U : rounded;
}

/// The upper halves of the parts of each lane, in place.
template <Precision P>
HEADROOM_INLINE void cut_vector(Vec v, Bits (&parts)[Parts<P>::kCount]) {
#pragma GCC unroll 3
  for (int p = 0; p < Parts<P>::kCount; ++p) {
    const Bits bits = bits_of(v);
    parts[p] = (Parts<P>::kTruncate ? bits : rounded_to_upper(bits)) & 0xffff0000U;
    if (p + 1 < Parts<P>::kCount) v = v - vec_of(parts[p]);
  }
}

/// The smallest magnitude but zero that a unit multiplies exactly: it takes denormal numbers for
/// zeros, and a third part is 2^-16 of its number.
inline constexpr std::uint32_t kLeastMagnitude = (127U - 104U) << 23;

/// The least magnitude so far, as bits and less one, so that a zero counts as the largest.
HEADROOM_INLINE Bits least_of(Bits least, Bits bits) {
  const Bits here = (bits & kMagnitude) - 1U;
  return here < least ? here : least;
}

HEADROOM_INLINE bool has_small(Bits least) { return any_lane(least < kLeastMagnitude - 1U); }

/// The magnitudes that were seen in each lane.
struct Sizes {
  Bits least = Bits{} - 1U;
  Bits most = {};

  HEADROOM_INLINE void see(const Bits& bits) {
    const Bits size = bits & kMagnitude;
    least = least_of(least, bits);
    most = size > most ? size : most;
  }
  /// Ones in the lanes that saw a value which parts cannot carry.
  HEADROOM_INLINE Bits bad_lanes() const {
    constexpr std::uint32_t kMost = 0x7f7f8000U;  // from here on rounding to bf16 is infinite
    return static_cast<Bits>(most >= kMost) | static_cast<Bits>(least < kLeastMagnitude - 1U);
  }
  HEADROOM_INLINE bool has_bad() const { return any_lane(bad_lanes()); }
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
