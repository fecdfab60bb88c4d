// The vector of one instruction-set level, and what differs between xsimd versions.
//
// Included only by files compiled once per level, inside namespaces named after the level. Nothing
// here may call inline functions of the standard library: see cmake/HeadroomIsa.cmake.
#pragma once

#include <cstdint>
#include <utility>
#include <xsimd/xsimd.hpp>
#if defined(HEADROOM_ISA_AVX512) || defined(HEADROOM_ISA_AVX2)
#include <immintrin.h>
#endif

#include "simd/kernel_table.hpp"

#define HEADROOM_INLINE [[gnu::always_inline]] inline

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

#if defined(HEADROOM_ISA_AVX512)
using Arch = xsimd::avx512bw;
inline constexpr int kFullTileRows = 14;  // 28 accumulators, 2 of B and 1 of A in 32 registers
#elif defined(HEADROOM_ISA_AVX2)
using Arch = xsimd::fma3<xsimd::avx2>;
inline constexpr int kFullTileRows = 6;  // 12 accumulators, 2 of B and 1 of A in 16 registers
#elif defined(HEADROOM_ISA_SSE42)
using Arch = xsimd::sse4_2;
inline constexpr int kFullTileRows = 6;
#elif defined(HEADROOM_ISA_NEON)
using Arch = xsimd::neon64;
inline constexpr int kFullTileRows = 12;  // 24 accumulators in 32 registers
#endif

// A sanitizer guards every access of every unrolled tile, which takes the compiler many minutes.
// A low tile takes the same paths through the same code; one test has the full ones. For
// scripts/planted-bugs, which builds often, the compiler is too slow without a sanitizer, too.
#if (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
     defined(HEADROOM_LOW_TILES)) &&                                  \
    !defined(HEADROOM_FULL_TILES)
inline constexpr int kTileRows = 3;
#else
inline constexpr int kTileRows = kFullTileRows;
#endif

using Vec = xsimd::batch<float, Arch>;
using IntVec = xsimd::batch<std::int32_t, Arch>;
inline constexpr int kLanes = static_cast<int>(Vec::size);
inline constexpr int kPanel = 2 * kLanes;  // columns of a full panel

HEADROOM_INLINE Vec load(const float* p) { return Vec::load_unaligned(p); }
HEADROOM_INLINE void store(float* p, const Vec& v) { v.store_unaligned(p); }

using Bits [[gnu::vector_size(kLanes * 4)]] = std::uint32_t;
using Halves [[gnu::vector_size(kLanes * 2)]] = std::uint16_t;

HEADROOM_INLINE Bits bits_of(const Vec& v) { return __builtin_bit_cast(Bits, v.data); }
HEADROOM_INLINE Vec vec_of(const Bits& bits) {
  return Vec(__builtin_bit_cast(decltype(Vec::data), bits));
}

using Ints [[gnu::vector_size(kLanes * 4)]] = std::int32_t;
using Bytes [[gnu::vector_size(kLanes)]] = std::int8_t;

HEADROOM_INLINE Vec floats_of(const Ints& values) {
  return Vec(xsimd::batch_cast<float>(IntVec(__builtin_bit_cast(decltype(IntVec::data), values))));
}

inline constexpr std::uint32_t kMagnitude = 0x7fffffffU;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000U;

/// The upper half of each lane.
HEADROOM_INLINE void store_upper(Half* p, const Bits& bits) {
  const Halves halves = __builtin_convertvector(bits >> 16, Halves);
  __builtin_memcpy(p, &halves, sizeof(halves));
}

/// Whether a comparison holds in any lane.
template <class Mask>
HEADROOM_INLINE bool any_lane(const Mask& mask) {
#if defined(HEADROOM_ISA_AVX512)
  const auto lanes = __builtin_bit_cast(__m512i, mask);
  return _mm512_test_epi32_mask(lanes, lanes) != 0;
#endif
  bool any = false;
  for (int i = 0; i < kLanes; ++i) any = any || mask[i] != 0;
  return any;
}

/// The bits of bfloat16 numbers, which widen to floats exactly.
HEADROOM_INLINE Vec load(const Half* p) {
#if defined(HEADROOM_ISA_AVX512)
  // Of the conversion below gcc 12 makes five instructions here, three of them shuffles.
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return vec_of(__builtin_bit_cast(Bits, _mm512_cvtepu16_epi32(halves)) << 16);
#else
  Halves halves;
  __builtin_memcpy(&halves, p, sizeof(halves));
  return vec_of(__builtin_convertvector(halves, Bits) << 16);
#endif
}

/// Integers of eight bits.
HEADROOM_INLINE Vec load(const std::int8_t* p) {
#if defined(HEADROOM_ISA_AVX512)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return Vec(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
#elif defined(HEADROOM_ISA_AVX2)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return Vec(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
#else
  Bytes bytes;
  __builtin_memcpy(&bytes, p, sizeof(bytes));
  return floats_of(__builtin_convertvector(bytes, Ints));
#endif
}

/// The bits of fp16 numbers, see `F16::value`.
HEADROOM_INLINE Vec load_fp16(const Half* p) {
  Halves halves;
  __builtin_memcpy(&halves, p, sizeof(halves));
  const Bits bits = __builtin_convertvector(halves, Bits);
  const Bits size = (bits & 0x7fffU) << 13;
  const Vec finite = vec_of(size) * Vec(0x1p112F);
  const Bits found = size >= 0x0f800000U ? size | kInfinityBits : bits_of(finite);
  return vec_of(found | (bits & 0x8000U) << 16);
}

/// Each lane rounded to nearest even, as far as its upper half goes. A NaN stays one: to round up a
/// payload of ones would carry into the sign, and leave a zero.
HEADROOM_INLINE Bits rounded_to_upper(const Bits& bits) {
  const Bits rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return (bits & kMagnitude) > kInfinityBits ? bits | 0x00400000U : rounded;
}

HEADROOM_INLINE void store(Half* p, const Vec& v) { store_upper(p, rounded_to_upper(bits_of(v))); }

HEADROOM_INLINE float load_one(const float* p) { return *p; }
HEADROOM_INLINE float load_one(const Half* p) {
  return __builtin_bit_cast(float, std::uint32_t{*p} << 16);
}

HEADROOM_INLINE void store_one(float* p, float x) { *p = x; }
HEADROOM_INLINE void store_one(Half* p, float x) {
  Half lanes[kLanes];
  store(lanes, Vec(x));
  *p = lanes[0];
}

/// `a * b + c` in one rounding where the level has it. xsimd has no AVX-512 fma before 11.0.
/// Nothing is left to the compiler's contraction: in `a * b + c * d` it may fuse either product,
/// and which one depends on what stands around, so equal rows would differ in bits.
HEADROOM_INLINE Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) {
#if defined(HEADROOM_ISA_AVX512) && XSIMD_VERSION_MAJOR < 11
  return Vec(_mm512_fmadd_ps(a.data, b.data, c.data));
#else
  return xsimd::fma(a, b, c);
#endif
}

/// The larger of each pair of lanes, and `b` where either is a NaN: what x86 does, and what xsimd
/// does the other way around since 14.0. (On NEON a NaN from either side propagates.)
HEADROOM_INLINE Vec max_or_second(const Vec& a, const Vec& b) {
#if XSIMD_VERSION_MAJOR < 14
  return xsimd::max(a, b);
#else
  return xsimd::max(b, a);
#endif
}

/// `2^(n - 127)` for lanes whose low bits are `n`; 0 for `n = 0`.
HEADROOM_INLINE Vec low_bits_as_exponent(const Vec& v) {
#if XSIMD_VERSION_MAJOR < 11  // the template argument was the batch type, now its element type
  return xsimd::bitwise_cast<Vec>(xsimd::bitwise_cast<IntVec>(v) << 23);
#else
  return xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::int32_t>(v) << 23);
#endif
}

/// Each lane gets the value of the lane whose index differs in the bits of `D`. The compiler's
/// shuffle, because xsimd 8.1 has none across all lanes of every level.
template <int D, int... I>
HEADROOM_INLINE Vec swap_lanes(const Vec& v, std::integer_sequence<int, I...>) {
  return Vec(__builtin_shufflevector(v.data, v.data, (I ^ D)...));
}

/// Sum of the lanes, always in the same order.
template <int D = kLanes / 2>
HEADROOM_INLINE float sum_lanes(const Vec& v) {
  const Vec sum = v + swap_lanes<D>(v, std::make_integer_sequence<int, kLanes>());
  if constexpr (D > 1) return sum_lanes<D / 2>(sum);
  return sum.data[0];
}

template <int D = kLanes / 2>
HEADROOM_INLINE float max_lanes(const Vec& v) {
  const Vec max = max_or_second(v, swap_lanes<D>(v, std::make_integer_sequence<int, kLanes>()));
  if constexpr (D > 1) return max_lanes<D / 2>(max);
  return max.data[0];
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
