// Products of bytes, four to a lane. Integers, and exact, so they are the same at every level.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

#if defined(HEADROOM_UNIT_AVX512_VNNI)
inline constexpr bool kDotsOfBytes = true;  ///< one instruction multiplies four bytes of a lane
#else
inline constexpr bool kDotsOfBytes = false;
#endif

using Shorts [[gnu::vector_size(kLanes * 4)]] = std::int16_t;

/// The products of each lane's two numbers of 16 bits with the two in `of`, added.
HEADROOM_INLINE Ints dot_of_pairs(const Bits& pairs, std::int32_t of) {
#if defined(HEADROOM_ISA_AVX512)
  return __builtin_bit_cast(
      Ints, _mm512_madd_epi16(__builtin_bit_cast(__m512i, pairs), _mm512_set1_epi32(of)));
#elif defined(HEADROOM_ISA_AVX2)
  return __builtin_bit_cast(
      Ints, _mm256_madd_epi16(__builtin_bit_cast(__m256i, pairs), _mm256_set1_epi32(of)));
#elif defined(HEADROOM_ISA_SSE42)
  return __builtin_bit_cast(Ints,
                            _mm_madd_epi16(__builtin_bit_cast(__m128i, pairs), _mm_set1_epi32(of)));
#else
  const std::int32_t low = static_cast<std::int16_t>(of & 0xffff);
  return (__builtin_bit_cast(Ints, pairs << 16) >> 16) * low +
         (__builtin_bit_cast(Ints, pairs) >> 16) * (of >> 16);
#endif
}

/// Adds the products of each lane's four bytes, which have no sign, with those of x, which have.
/// @param x one word for them; or two of pairs, the first and the third and the others
/// @param second from the first pair to the second one
HEADROOM_INLINE Ints add_dots(const Ints& sum, const Bits& bytes, const std::int32_t* x,
                              std::int64_t second) {
#if defined(HEADROOM_UNIT_AVX512_VNNI)
  (void)second;
  return __builtin_bit_cast(
      Ints, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum),
                                __builtin_bit_cast(__m512i, bytes), _mm512_set1_epi32(*x)));
#else
  const Bits even = bytes & 0x00ff00ffU;
  const Bits odd = (bytes >> 8) & 0x00ff00ffU;
  return sum + dot_of_pairs(even, x[0]) + dot_of_pairs(odd, x[second]);
#endif
}

/// The same of bytes that have a sign, with x that has none.
HEADROOM_INLINE Ints add_signed_dots(const Ints& sum, const Bits& bytes, const std::int32_t* x,
                                     std::int64_t second) {
#if defined(HEADROOM_UNIT_AVX512_VNNI)
  (void)second;
  return __builtin_bit_cast(
      Ints, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum), _mm512_set1_epi32(*x),
                                __builtin_bit_cast(__m512i, bytes)));
#else
  const auto even = __builtin_bit_cast(Shorts, bytes << 8) >> 8;
  const auto odd = __builtin_bit_cast(Shorts, bytes) >> 8;
  return sum + dot_of_pairs(__builtin_bit_cast(Bits, even), x[0]) +
         dot_of_pairs(__builtin_bit_cast(Bits, odd), x[second]);
#endif
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
