// The parts that a precision cuts a number into, and the products of parts that it sums.
//
// Included only by files compiled once per level, see vec.hpp.
#pragma once

#include <type_traits>

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
// Of fp16, see fp16_parts.hpp.
template <>
struct Parts<Precision::fp16x3> {
  static constexpr int kCount = 2;
  static constexpr int kProducts = 3;
  static constexpr PartPair kOrder[kProducts] = {{0, 1}, {0, 0}, {1, 0}};
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

/// What a unit multiplies for a precision: the parts of each operand that there are, and the
/// products of them that it sums, in this order.
///
/// @tparam B what the right operand is stored as. A bfloat16 number is its own first part and has
///         no other; what its other parts would give is zero.
template <Precision P, class B>
struct Scheme : Parts<P> {
  static constexpr Precision kPrecision = P;
  static constexpr int kLeft = Parts<P>::kCount;
  static constexpr int kRight = Parts<P>::kCount;
};

/// Of a precision's products those with the first part of b, in the same order.
template <Precision P>
struct FirstParts {
  PartPair pairs[Parts<P>::kCount] = {};

  constexpr FirstParts() {
    int count = 0;
    for (const PartPair& pair : Parts<P>::kOrder) {
      if (pair.b == 0) pairs[count++] = pair;
    }
  }
};
template <Precision P>
inline constexpr FirstParts<P> kFirstParts{};

template <Precision P>
struct Scheme<P, Half> {
  static constexpr Precision kPrecision = P;
  static constexpr int kLeft = Parts<P>::kCount;
  static constexpr int kRight = 1;
  static constexpr int kProducts = kLeft;
  static constexpr const PartPair (&kOrder)[kProducts] = kFirstParts<P>.pairs;
};

/// With one part there is nothing to leave out, and no reason to compile everything twice.
template <Precision P, class B>
using SchemeOf = Scheme<P, std::conditional_t<Parts<P>::kCount == 1, float, B>>;

/// Whether the parts are fp16, which another instruction multiplies.
template <Precision P>
inline constexpr bool kOfFp16 = P == Precision::fp16x3;

/// Up to how many rows f32 is as fast as tiles, which work on 32 rows whatever is in them. Measured
/// on Granite Rapids, 768 wide and deep: 4 rows of one product 1.7 times f32; three between 8 and
/// 16 rows; six between 16 and 24. Nine are reckoned from six. Those of fp16
/// were measured from 32 rows on; they are no more work than six products on fewer rows, either.
constexpr std::int64_t few_rows_of_tiles(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 3;
    case Precision::bf16x3:
      return 11;
    case Precision::bf16x6:
    case Precision::fp16x3:
      return 20;
    default:
      return 31;
  }
}

/// The same of weights in few bits, 768 and 4096 wide and deep: one product from 8 to 12 rows on,
/// three and six from 16 on, where f32 needs a second tile of rows.
constexpr std::int64_t few_rows_of_cut_groups(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 9;
    case Precision::bf16x3:
      return 15;
    default:
      return few_rows_of_tiles(precision);
  }
}

/// The longest stage of the depth: its rows of a task stay in an L2 of 2 MiB beside what streams
/// through. Measured on Granite Rapids.
template <Precision P>
constexpr std::int64_t longest_stage_of_tiles() {
  switch (Parts<P>::kCount) {
    case 1:
      return 1024;
    case 2:
      return 768;
    default:
      return 512;
  }
}

/// What a unit of tiles goes by, emulated or not.
struct TileSettings {
  /// Steps of the depth whose right operand stays in the L1 while all rows pass; 0: the whole
  /// depth. With one product both operands from the L2 take as long as 1.5 times the products.
  /// Eight steps: 16 KiB of an L1 of 48, beside as many of the left operand. Sums between them lie
  /// in the L2, which with more products costs more than it saves (measured).
  template <class S>
  static constexpr std::int64_t held_steps() {
    return S::kProducts == 1 ? 8 : 0;
  }
  template <Precision P>
  static constexpr RowBorder border() {
    return {few_rows_of_tiles(P), "Granite Rapids"};
  }
  template <Precision P>
  static constexpr RowBorder border_of_two() {
    return border<P>();
  }
  template <Precision P>
  static constexpr RowBorder border_of_groups() {
    return {few_rows_of_cut_groups(P), "Granite Rapids"};
  }
  template <Precision P>
  static constexpr std::int64_t longest_stage() {
    return longest_stage_of_tiles<P>();
  }
};

/// Two vectors' lanes as bfloat16.
using TwoHalves [[gnu::vector_size(kLanes * 4)]] = std::uint16_t;

/// The upper halves of the lanes of two vectors, one after the other.
template <int... I>
HEADROOM_INLINE TwoHalves upper_halves(const Bits& first, const Bits& second,
                                       std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(__builtin_bit_cast(TwoHalves, first),
                                 __builtin_bit_cast(TwoHalves, second), (2 * I + 1)...);
}

/// The upper halves of the next part of each lane, in place.
template <Precision P>
HEADROOM_INLINE Bits next_part(const Bits& bits) {
  return (Parts<P>::kTruncate ? bits : rounded_to_upper(bits)) & 0xffff0000U;
}

#if defined(__AVX512BF16__)
/// Rounded by one instruction, which takes denormal numbers for zeros, as tile products do.
HEADROOM_INLINE TwoHalves rounded_halves(const Vec& first, const Vec& second) {
  return __builtin_bit_cast(TwoHalves, _mm512_cvtne2ps_pbh(second.data, first.data));
}
/// Of the lanes from 16 `h` on.
template <int h>
HEADROOM_INLINE Vec widened_halves(const TwoHalves& halves) {
  alignas(64) static constexpr std::uint16_t kPlaces[] = {0, 0,  0, 1,  0, 2,  0, 3,  0, 4, 0,
                                                          5, 0,  6, 0,  7, 0,  8, 0,  9, 0, 10,
                                                          0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  const __m512i places =
      _mm512_add_epi16(_mm512_load_si512(kPlaces), _mm512_set1_epi16(h * kLanes));
  return Vec(_mm512_castsi512_ps(
      _mm512_maskz_permutexvar_epi16(0xaaaaaaaaU, places, __builtin_bit_cast(__m512i, halves))));
}
/// The upper and lower 16 of the halves in turn.
HEADROOM_INLINE TwoHalves interleaved(const TwoHalves& halves) {
  alignas(64) static constexpr std::uint16_t kPlaces[] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return __builtin_bit_cast(
      TwoHalves,
      _mm512_permutexvar_epi16(_mm512_load_si512(kPlaces), __builtin_bit_cast(__m512i, halves)));
}
#endif

/// Two vectors of neighbours along the depth, cut: a row of a left tile.
template <Precision P>
HEADROOM_INLINE void cut_neighbours(Vec first, Vec second, TwoHalves (&parts)[Parts<P>::kCount]) {
#pragma GCC unroll 3
  for (int p = 0; p < Parts<P>::kCount; ++p) {
    const bool more = p + 1 < Parts<P>::kCount;
#if defined(__AVX512BF16__)
    if constexpr (!Parts<P>::kTruncate) {
      parts[p] = rounded_halves(first, second);
      if (more) first = first - widened_halves<0>(parts[p]);
      if (more) second = second - widened_halves<1>(parts[p]);
      continue;
    }
#endif
    const Bits of_first = next_part<P>(bits_of(first));
    const Bits of_second = next_part<P>(bits_of(second));
    parts[p] = upper_halves(of_first, of_second, std::make_integer_sequence<int, 2 * kLanes>());
    if (more) first = first - vec_of(of_first);
    if (more) second = second - vec_of(of_second);
  }
}

/// Two rows of the depth, cut, their lanes in turn: a row of a right tile.
/// @tparam kCount how many parts are wanted
template <Precision P, int kCount>
HEADROOM_INLINE void cut_pairs(Vec upper, Vec lower, TwoHalves (&parts)[kCount]) {
#pragma GCC unroll 3
  for (int p = 0; p < kCount; ++p) {
    const bool more = p + 1 < kCount;
#if defined(__AVX512BF16__)
    if constexpr (!Parts<P>::kTruncate) {
      const TwoHalves rounded = rounded_halves(upper, lower);
      parts[p] = interleaved(rounded);
      if (more) upper = upper - widened_halves<0>(rounded);
      if (more) lower = lower - widened_halves<1>(rounded);
      continue;
    }
#endif
    const Bits of_upper = next_part<P>(bits_of(upper));
    const Bits of_lower = next_part<P>(bits_of(lower));
    parts[p] = __builtin_bit_cast(TwoHalves, (of_upper >> 16) | of_lower);
    if (more) upper = upper - vec_of(of_upper);
    if (more) lower = lower - vec_of(of_lower);
  }
}

/// The smallest magnitude but zero that a unit multiplies exactly: it takes denormal numbers for
/// zeros, and a third part is 2^-16 of its number.
inline constexpr std::uint32_t kLeastMagnitude = (127U - 104U) << 23;

HEADROOM_INLINE bool has_small(Bits least) { return any_lane(least < kLeastMagnitude - 1U); }

/// The magnitudes that were seen in each lane.
struct Sizes {
  Bits least = Bits{} - 1U;
  Bits most = {};

  HEADROOM_INLINE void see(const Bits& bits) {
    const Bits size = bits & kMagnitude;
    least = size - 1U < least ? size - 1U : least;
    most = size > most ? size : most;
  }
  HEADROOM_INLINE void see(const Sizes& other) {
    least = other.least < least ? other.least : least;
    most = other.most > most ? other.most : most;
  }
  /// Ones in the lanes that saw a value which parts cannot carry.
  HEADROOM_INLINE Bits bad_lanes() const {
    constexpr std::uint32_t kMost = 0x7f7f8000U;  // from here on rounding to bf16 is infinite
    return static_cast<Bits>(most >= kMost) | static_cast<Bits>(least < kLeastMagnitude - 1U);
  }
  HEADROOM_INLINE bool has_bad() const { return any_lane(bad_lanes()); }
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
