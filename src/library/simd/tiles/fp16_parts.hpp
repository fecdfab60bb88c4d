// fp16 parts: scaled, cut, and counted, which says whether they carry a product.
//
// A row of the left operand is multiplied by the power of two that brings its largest magnitude
// into [2^14, 2^15), and so are 32 columns of the right one, stage by stage of the depth. Then high
// is the nearest fp16 of x and low that of x - high. The grid of fp16 ends at 2^-24, so low is off
// by at most 2^-25. That is at most an ulp of x, 2^-23 of it, where |x| >= 2^-2: both parts hold 23
// bits. Smaller values but zeros are *worn*: they lose more. What they add to a sum of products is
// harmless where enough large products are in it:
//
// - Of a row and a column let n terms have a in some upper range and b in another. With `whole` of
//   the row's values at least 2^-2 and `large` of the column's at least 2^11, n is at least
//   whole + large - depth, because no more than `depth` places are there to share; likewise with
//   `middle` (2^4) of both, and with the two sides exchanged. Each such term is at least 2^8.
// - A worn value times the other side's largest, which is below 2^15, is off by less than 2^-10.
//   w worn values of a side therefore add less than w 2^-10 to a sum of magnitudes of at least
//   n 2^8: with n >= w less than 2^-18 of it, and both sides together 128 * 2^-24.
//
// So a row and 32 columns are *good* where neither side has worn values, or where the largest of
// the three bounds of n reaches the worn ones of each side. Counts of columns are those of the
// worst of the 32, but for columns of zeros, which are exact with anything. What is not good is
// computed by f32: the sums of its parts are multiplied by NaN instead of the inverse of both
// scales.
#pragma once

#include "simd/tiles/cut.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The fp16 nearest to each lane, ties to even, as a float and as bits.
struct NearestFp16 {
  Vec value;
  Bits bits;
};

/// @pre magnitudes are below 65520, or what comes of it does not matter
HEADROOM_INLINE NearestFp16 nearest_fp16(const Vec& x) {
#if defined(HEADROOM_ISA_AVX512)
  const __m256i halves = _mm512_cvtps_ph(x.data, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return {Vec(_mm512_cvtph_ps(halves)), __builtin_bit_cast(Bits, _mm512_cvtepu16_epi32(halves))};
#else
  constexpr std::uint32_t kLeastNormal16 = (127U - 14U) << 23;
  constexpr std::uint32_t kHalf = (127U - 1U) << 23;
  const Bits size = bits_of(x) & kMagnitude;
  const Bits sign = bits_of(x) & ~kMagnitude;
  const Bits rounded = (size + 0xfffU + ((size >> 13) & 1U)) & ~0x1fffU;
  // Floats from 1/2 to 1 lie on the grid of fp16's denormal numbers.
  const Vec on_grid = vec_of(size) + Vec(0.5F);
  const Bits small = bits_of(on_grid - Vec(0.5F));
  const Bits value = size < kLeastNormal16 ? small : rounded;
  const Bits bits =
      size < kLeastNormal16 ? bits_of(on_grid) - kHalf : (rounded >> 13) - (112U << 10);
  return {vec_of(value | sign), bits | (sign >> 16)};
#endif
}

/// High and low of two vectors of neighbours along the depth: a row of a left tile.
HEADROOM_INLINE void cut_fp16_neighbours(Vec first, Vec second, TwoHalves (&parts)[2]) {
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
    const NearestFp16 of_first = nearest_fp16(first);
    const NearestFp16 of_second = nearest_fp16(second);
    parts[p] = upper_halves(of_first.bits << 16, of_second.bits << 16,
                            std::make_integer_sequence<int, 2 * kLanes>());
    first = first - of_first.value;
    second = second - of_second.value;
  }
}

/// Of two rows of the depth, their lanes in turn: a row of a right tile.
/// @tparam kCount how many parts are wanted
template <int kCount>
HEADROOM_INLINE void cut_fp16_pairs(Vec upper, Vec lower, TwoHalves (&parts)[kCount]) {
#pragma GCC unroll 2
  for (int p = 0; p < kCount; ++p) {
    const NearestFp16 of_upper = nearest_fp16(upper);
    const NearestFp16 of_lower = nearest_fp16(lower);
    parts[p] = __builtin_bit_cast(TwoHalves, of_upper.bits | of_lower.bits << 16);
    upper = upper - of_upper.value;
    lower = lower - of_lower.value;
  }
}

/// @pre -126 <= exponent <= 127
HEADROOM_INLINE float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + exponent) << 23);
}

/// Of the power of two that brings a magnitude into [2^14, 2^15). Infinities and NaN have none, nor
/// has what needs a larger one than 2^126.
HEADROOM_INLINE std::int16_t fp16_exponent(std::uint32_t most) {
  if (most == 0) return 0;
  const int exponent = 14 + 127 - static_cast<int>(most >> 23);
  return most >= kInfinityBits || exponent > 126 ? kNoFp16Scale
                                                 : static_cast<std::int16_t>(exponent);
}

/// 0 where there is no scale, so that parts are zeros (or NaN, which nobody reads).
HEADROOM_INLINE float fp16_scale(std::int16_t exponent) {
  return exponent == kNoFp16Scale ? 0.0F : power_of_two(exponent);
}

HEADROOM_INLINE Bits larger_of(const Bits& a, const Bits& b) { return a > b ? a : b; }
HEADROOM_INLINE std::uint32_t largest_lane(const Bits& bits) {
  std::uint32_t most = 0;
  for (int i = 0; i < kLanes; ++i) most = bits[i] > most ? bits[i] : most;
  return most;
}
HEADROOM_INLINE int lane_sum(const Bits& bits) {
  std::uint32_t sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += bits[i];
  return static_cast<int>(sum);
}

/// How many values of each lane lie where.
struct Fp16Counts {
  Bits large = {}, middle = {}, whole = {}, nonzero = {};

  /// @param scaled as x is when it is cut
  HEADROOM_INLINE void see(const Vec& x, const Vec& scaled) {
    constexpr std::uint32_t kLarge = (127U + 11U) << 23;  // 2^11
    constexpr std::uint32_t kMiddle = (127U + 4U) << 23;  // 2^4
    constexpr std::uint32_t kWhole = (127U - 2U) << 23;   // 2^-2
    const Bits size = bits_of(scaled) & kMagnitude;
    // A comparison is -1 where it holds.
    large -= static_cast<Bits>(size >= kLarge);
    middle -= static_cast<Bits>(size >= kMiddle);
    whole -= static_cast<Bits>(size >= kWhole);
    nonzero -= static_cast<Bits>((bits_of(x) & kMagnitude) != 0U);
  }
};

/// More than any depth: what has only zeros is exact with anything.
inline constexpr int kFp16Zeros = 4096;

HEADROOM_INLINE Fp16Range fp16_range(std::int16_t exponent, int large, int middle, int whole,
                                     int nonzero) {
  Fp16Range range;
  range.exponent = exponent;
  const int more = nonzero == 0 ? kFp16Zeros : 0;
  range.large = static_cast<std::int16_t>(large + more);
  range.middle = static_cast<std::int16_t>(middle + more);
  range.whole = static_cast<std::int16_t>(whole + more);
  range.worn = static_cast<std::int16_t>(nonzero - whole);
  return range;
}

/// A row of x as its tiles are read: two vectors from `k` on, zeros beyond the depth.
template <class A>
HEADROOM_INLINE void load_row_pair(const A* x, std::int64_t k, std::int64_t depth, Vec& first,
                                   Vec& second) {
  if (k + 2 * kLanes <= depth) {
    first = load(x + k);
    second = load(x + k + kLanes);
    return;
  }
  alignas(64) A rest[2 * kLanes] = {};
  for (std::int64_t i = 0; i < depth - k; ++i) rest[i] = x[k + i];
  first = load(rest);
  second = load(rest + kLanes);
}

/// As `cut_row`, of fp16 parts. @param x null: zeros
template <class A>
HEADROOM_INLINE Fp16Range cut_fp16_row(const A* x, std::int64_t depth, std::int64_t steps,
                                       std::int64_t r, std::uint16_t* out) {
  if (x == nullptr) depth = 0;
  Bits most{};
  Vec first(0.0F);
  Vec second(0.0F);
  for (std::int64_t k = 0; k < depth; k += 2 * kLanes) {
    load_row_pair(x, k, depth, first, second);
    most = larger_of(most, bits_of(first) & kMagnitude);
    most = larger_of(most, bits_of(second) & kMagnitude);
  }
  const std::int16_t exponent = fp16_exponent(largest_lane(most));
  const Vec scale(fp16_scale(exponent));
  Fp16Counts counts;
  out += r * kTileDepth;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += 2 * kLanes) {
    first = second = Vec(0.0F);
    if (k < depth) load_row_pair(x, k, depth, first, second);
    counts.see(first, first * scale);
    counts.see(second, second * scale);
    TwoHalves parts[2];
    cut_fp16_neighbours(first * scale, second * scale, parts);
    std::uint16_t* to = out + k / kTileDepth * 2 * kLeftStep + k % kTileDepth;
    __builtin_memcpy(to, &parts[0], sizeof(parts[0]));
    __builtin_memcpy(to + kLeftStep, &parts[1], sizeof(parts[1]));
  }
  return fp16_range(exponent, lane_sum(counts.large), lane_sum(counts.middle),
                    lane_sum(counts.whole), lane_sum(counts.nonzero));
}

/// The worst of all columns, and of what was seen before.
HEADROOM_INLINE void take_worst(const Fp16Counts& counts, Fp16Range& worst) {
  for (int i = 0; i < kLanes; ++i) {
    const auto count = [&](const Bits& of) __attribute__((always_inline)) {
      return static_cast<int>(of[i]);
    };
    const Fp16Range column = fp16_range(worst.exponent, count(counts.large), count(counts.middle),
                                        count(counts.whole), count(counts.nonzero));
    worst.large = column.large < worst.large ? column.large : worst.large;
    worst.middle = column.middle < worst.middle ? column.middle : worst.middle;
    worst.whole = column.whole < worst.whole ? column.whole : worst.whole;
    worst.worn = column.worn > worst.worn ? column.worn : worst.worn;
  }
}

/// Of a vector's columns the row `k` of the depth.
template <class B>
HEADROOM_INLINE Vec row_of(const Columns<B>& from, std::int64_t k, std::int64_t depth) {
  return from.first != nullptr && k < depth ? load(from.first + k * from.stride) : Vec(0.0F);
}

/// A vector's columns, scaled and cut.
/// @param out of the first of them
template <class S, class B>
HEADROOM_INLINE Fp16Counts cut_fp16_lanes(const Columns<B>& from, const Vec& scale,
                                          std::int64_t depth, std::int64_t steps,
                                          std::uint16_t* out) {
  Fp16Counts counts;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += 2) {
    const Vec upper = row_of(from, k, depth);
    const Vec lower = row_of(from, k + 1, depth);
    counts.see(upper, upper * scale);
    counts.see(lower, lower * scale);
    TwoHalves parts[S::kRight];
    cut_fp16_pairs(upper * scale, lower * scale, parts);
    std::uint16_t* to = out + k / kTileDepth * S::kRight * kRightStep + k % kTileDepth * kTileBlock;
#pragma GCC unroll 2
    for (int p = 0; p < S::kRight; ++p) {
      __builtin_memcpy(to + p * kRightStep, &parts[p], sizeof(parts[p]));
    }
  }
  return counts;
}

/// As `cut_columns`, of fp16 parts. What is stored as bfloat16 has no low one: of 8 bits high holds
/// all that is on its grid.
template <class S, class B>
HEADROOM_INLINE Fp16Range cut_fp16_columns(const Columns<B> (&columns)[kBlockVectors],
                                           std::int64_t depth, std::int64_t steps,
                                           std::uint16_t* out) {
  Bits most{};
  for (std::int64_t k = 0; k < depth; ++k) {
    for (const Columns<B>& from : columns) {
      most = larger_of(most, bits_of(row_of(from, k, depth)) & kMagnitude);
    }
  }
  Fp16Range range = fp16_range(fp16_exponent(largest_lane(most)), 0, 0, 0, 0);
  const Vec scale(fp16_scale(range.exponent));
  for (int v = 0; v < kBlockVectors; ++v) {
    const Fp16Counts counts =
        cut_fp16_lanes<S>(columns[v], scale, depth, steps, out + 2 * v * kLanes);
    take_worst(counts, range);
  }
  return range;
}

HEADROOM_INLINE void keep_range(const Fp16Range& range, Fp16Rows& rows, std::int64_t r) {
  rows.exponent[r] = range.exponent;
  rows.large[r] = range.large;
  rows.middle[r] = range.middle;
  rows.whole[r] = range.whole;
  rows.worn[r] = range.worn;
}

/// What the sums of 32 rows and 32 columns are multiplied by: the inverse of both scales, or NaN
/// where the product is not good.
HEADROOM_INLINE void fp16_factors(const Fp16Rows& rows, const Fp16Range& columns,
                                  std::int64_t depth, float* factors) {
  for (std::int64_t r = 0; r < kTileBlock; ++r) {
    const int outer = rows.whole[r] + columns.large;
    const int middle = rows.middle[r] + columns.middle;
    const int inner = rows.large[r] + columns.whole;
    const int most = outer > middle ? outer : middle;
    const int terms = (most > inner ? most : inner) - static_cast<int>(depth);
    const int worn = rows.worn[r] > columns.worn ? rows.worn[r] : columns.worn;
    const int exponent = rows.exponent[r] + columns.exponent;
    const bool good = (worn == 0 || terms >= worn) && exponent >= -126 && exponent <= 126;
    const std::uint32_t inverse = static_cast<std::uint32_t>(127 - exponent) << 23;
    factors[r] = __builtin_bit_cast(float, good ? inverse : 0x7fc00000U);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
