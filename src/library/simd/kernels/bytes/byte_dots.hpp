// Products of bytes, four to a lane. Integers, and exact, so they are the same at every level.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Whether one instruction multiplies four bytes of a lane.
#if defined(HEADROOM_UNIT_AVX512_VNNI) || defined(HEADROOM_UNIT_NEON_DOTPROD)
inline constexpr bool kDotsOfBytes = true;
#else
inline constexpr bool kDotsOfBytes = false;
#endif

/// Whether both of its factors must have a sign, or neither. (The one of NEON that takes one of
/// each came later, with Armv8.6; it would save an operation for each vector of bytes, none for a
/// row.)
#if defined(HEADROOM_UNIT_NEON_DOTPROD)
inline constexpr bool kDotsOfAlike = true;
#else
inline constexpr bool kDotsOfAlike = false;
#endif

/// What a byte without a sign is more than the one with the same lower bits that has one.
inline constexpr int kSignOffset = 128;

/// Bytes as `add_dots` or `add_signed_dots` reads them. Where factors have to be alike, 128 is
/// taken off each byte that has no sign, or added to each that has one; both turn its uppermost
/// bit.
HEADROOM_INLINE Bits alike(const Bits& bytes) { return kDotsOfAlike ? bytes ^ 0x80808080U : bytes; }

inline constexpr float kWholeNumbers = 0x1.8p23F;  ///< a float's ulp is 1 around it

/// Numbers of at most `most` and a little more, rounded to whole ones and plus `kWholeNumbers`, so
/// that they are in the low bits. Where the caller has floats rounded upwards, that little would
/// make another whole number, which is no byte.
HEADROOM_INLINE Vec in_low_bits(const Vec& v, [[maybe_unused]] float most) {
#if defined(HEADROOM_ISA_AVX512)
  return Vec(_mm512_add_round_ps(v.data, _mm512_set1_ps(kWholeNumbers),
                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  return xsimd::min(v, Vec(most)) + Vec(kWholeNumbers);
#endif
}

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

/// Adds the products of each lane's four bytes, which have no sign unless `alike` gave them one,
/// with those of x, which have.
/// @param x one word for them; or two of pairs, the first and the third and the others
/// @param second from the first pair to the second one
HEADROOM_INLINE Ints add_dots(const Ints& sum, const Bits& bytes, const std::int32_t* x,
                              std::int64_t second) {
#if defined(HEADROOM_UNIT_AVX512_VNNI)
  (void)second;
  return __builtin_bit_cast(
      Ints, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum),
                                __builtin_bit_cast(__m512i, bytes), _mm512_set1_epi32(*x)));
#elif defined(HEADROOM_UNIT_NEON_DOTPROD)
  (void)second;
  return __builtin_bit_cast(
      Ints, vdotq_s32(__builtin_bit_cast(int32x4_t, sum), __builtin_bit_cast(int8x16_t, bytes),
                      vreinterpretq_s8_s32(vdupq_n_s32(*x))));
#else
  const Bits even = bytes & 0x00ff00ffU;
  const Bits odd = (bytes >> 8) & 0x00ff00ffU;
  return sum + dot_of_pairs(even, x[0]) + dot_of_pairs(odd, x[second]);
#endif
}

/// The same of bytes that have a sign unless `alike` took it, with x that has none.
HEADROOM_INLINE Ints add_signed_dots(const Ints& sum, const Bits& bytes, const std::int32_t* x,
                                     std::int64_t second) {
#if defined(HEADROOM_UNIT_AVX512_VNNI)
  (void)second;
  return __builtin_bit_cast(
      Ints, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum), _mm512_set1_epi32(*x),
                                __builtin_bit_cast(__m512i, bytes)));
#elif defined(HEADROOM_UNIT_NEON_DOTPROD)
  (void)second;
  return __builtin_bit_cast(
      Ints, vdotq_u32(__builtin_bit_cast(uint32x4_t, sum), __builtin_bit_cast(uint8x16_t, bytes),
                      vreinterpretq_u8_s32(vdupq_n_s32(*x))));
#else
  const auto even = __builtin_bit_cast(Shorts, bytes << 8) >> 8;
  const auto odd = __builtin_bit_cast(Shorts, bytes) >> 8;
  return sum + dot_of_pairs(__builtin_bit_cast(Bits, even), x[0]) +
         dot_of_pairs(__builtin_bit_cast(Bits, odd), x[second]);
#endif
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
