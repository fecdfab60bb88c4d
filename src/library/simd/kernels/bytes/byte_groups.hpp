// Queries and weights of a tile as products of bytes read them: rounded by groups of 32 with a
// scale each. Everything is exact or one rounding of an element, so they have the same bits at
// every level, and in every tile.
#pragma once

#include "simd/kernels/bytes/byte_dots.hpp"
#include "simd/kernels/fold.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Words of a group: four bytes each, or two numbers of 16 bits.
inline constexpr int kCacheGroupWords = kDotsOfBytes ? kGroup / 4 : kGroup / 2;

/// Groups, one after the other.
struct ByteGroups {
  std::int32_t* words;  ///< `kCacheGroupWords` of each
  float* scales;
  std::int32_t* starts;  ///< if `kHasStarts`: what sums of bytes that are 128 more begin with

  /// @param memory `byte_group_floats(count)`
  HEADROOM_INLINE ByteGroups(float* memory, std::int64_t count)
      : words(reinterpret_cast<std::int32_t*>(memory)),
        scales(memory + count * kCacheGroupWords),
        starts(reinterpret_cast<std::int32_t*>(scales + (count + kChunk - 1) / kChunk * kChunk)) {}
};

/// Whether groups are multiplied with bytes that are 128 more. Queries have a sign, and keys lie
/// so; weights have none, so values become so where factors have to be alike, and keys no longer
/// are.
template <bool kSigned>
inline constexpr bool kHasStarts = kSigned != kDotsOfAlike;

/// From a word of pairs to the other one of the same bytes.
inline constexpr int kSecondPair = kGroup / 4;

/// The low byte of each lane.
HEADROOM_INLINE void store_bytes(std::uint8_t* to, const Bits& values) {
#if defined(HEADROOM_ISA_AVX512)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm512_cvtepi32_epi8(__builtin_bit_cast(__m512i, values)));
#else
  using Low [[gnu::vector_size(kLanes)]] = std::uint8_t;
  const Low bytes = __builtin_convertvector(values, Low);
  __builtin_memcpy(to, &bytes, sizeof(bytes));
#endif
}

/// Bytes become pairs of 16 bits where nothing multiplies four of them.
template <bool kSigned>
HEADROOM_INLINE void keep_group(const std::uint8_t (&bytes)[kGroup], std::int32_t* words) {
  __builtin_memcpy(words, bytes, sizeof(bytes));
  if constexpr (!kDotsOfBytes) {
    for (int j = 0; j < kSecondPair; ++j) {
      const auto four = static_cast<std::uint32_t>(words[j]);
      std::uint32_t even = four & 0x00ff00ffU;
      std::uint32_t odd = (four >> 8) & 0x00ff00ffU;
      if constexpr (kSigned) {
        // The sign of a byte is that of its 16 bits.
        const auto extend = [](std::uint32_t pair) __attribute__((always_inline)) {
          return pair | ((pair & 0x00800080U) >> 7) * 0xff00U;
        };
        even = extend(even);
        odd = extend(odd);
      }
      words[j] = static_cast<std::int32_t>(even);
      words[j + kSecondPair] = static_cast<std::int32_t>(odd);
    }
  }
}

/// Rounds groups, as many at a time as a vector has lanes, so that their largest sizes are found
/// and divided together. The scale is the largest size over that of a byte, and that of no number
/// below 2^-119, whose inverse is finite: what is smaller adds nothing to a softmax. A value that
/// is not finite makes it NaN, and with it all that is made of the group.
/// @param value `value(i, v)` is vector `v` of group `i`
/// @tparam kSigned whether values have a sign; without they are at least 0
template <bool kSigned, class Value>
HEADROOM_INLINE void round_groups(std::int64_t count, const ByteGroups& groups,
                                  const Value& value) {
  constexpr int kVectors = kGroup / kLanes;
  constexpr float kMost = kSigned ? 127 : 255;
  constexpr float kLeast = 0x1p-119F;
  for (std::int64_t first = 0; first < count; first += kLanes) {
    const std::int64_t some = count - first < kLanes ? count - first : kLanes;
    Vec folded[kLanes];
    for (std::int64_t i = 0; i < some; ++i) {
      Bits sizes = bits_of(value(first + i, 0)) & kMagnitude;
#pragma GCC unroll 8
      for (int v = 1; v < kVectors; ++v) {
        const Bits next = bits_of(value(first + i, v)) & kMagnitude;
        sizes = next > sizes ? next : sizes;
      }
      folded[i] = vec_of(sizes);
    }
    for (std::int64_t i = some; i < kLanes; ++i) folded[i] = Vec(0.0F);
    const Bits most = bits_of(fold_each(
        folded, [](const Vec& a, const Vec& b) __attribute__((always_inline)) {
          return vec_of(bits_of(a) > bits_of(b) ? bits_of(a) : bits_of(b));
        }));
    const Bits least = Bits{} + __builtin_bit_cast(std::uint32_t, kLeast);
    const Vec size = vec_of(most > least ? most : least);
    const Bits scale = bits_of(size * Vec(1 / kMost));
    store(groups.scales + first, vec_of(most >= kInfinityBits ? scale | kMagnitude : scale));
    alignas(64) float inverses[kLanes];
    store(inverses, Vec(kMost) / size);
    for (std::int64_t i = 0; i < some; ++i) {
      const Vec inverse(inverses[i]);
      std::uint8_t bytes[kGroup];
      Vec sum(0.0F);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const Vec shifted = in_low_bits(value(first + i, v) * inverse, kMost);
        store_bytes(bytes + v * kLanes, bits_of(shifted));
        if constexpr (kHasStarts<kSigned>) sum += shifted - Vec(kWholeNumbers);
      }
      keep_group<kSigned>(bytes, groups.words + (first + i) * kCacheGroupWords);
      folded[i] = sum;
    }
    if constexpr (kHasStarts<kSigned>) {
      for (std::int64_t i = some; i < kLanes; ++i) folded[i] = Vec(0.0F);
      const Bits starts = bits_of(sum_each(folded) * Vec(-kSignOffset) + Vec(kWholeNumbers)) -
                          __builtin_bit_cast(std::uint32_t, kWholeNumbers);
      __builtin_memcpy(groups.starts + first, &starts, sizeof(starts));
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
