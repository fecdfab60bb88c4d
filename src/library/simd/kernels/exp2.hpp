// 2^x for softmax: x is at most 0 there (up to rounding), NaN passes through.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

// Not exported: a specialised variable template would be, whatever the compiler hides otherwise.
namespace {

/// Coefficients of 2^r on [-1/2, 1/2] with a constant term of 1, the highest first.
template <int kDegree>
constexpr float kExp2[kDegree + 1] = {};
/// Minimax in units of the last place of 2^r, which halve below 0, and then searched among the
/// neighbouring floats: with all roundings 1.78 of them, 1.83 without fused multiply-adds. Degree 6
/// would have 1.0 and take an eighth longer; sums and products round more often than either.
template <>
constexpr float kExp2<5>[6] = {1.32033019e-3F, 9.6730683e-3F,  5.55100776e-2F,
                               2.40222126e-1F, 6.93146706e-1F, 1.0F};
/// Minimax in relative error, 1.0e-4: for weights that are then rounded to bfloat16, which is off
/// by up to 2e-3.
template <>
constexpr float kExp2<3>[4] = {5.5008931263e-2F, 2.4221096785e-1F, 6.9328292806e-1F, 1.0F};

}  // namespace

template <int kDegree>
HEADROOM_INLINE Vec exp2_near_0(const Vec& r, float factor) {
  Vec p(factor * kExp2<kDegree>[0]);
#pragma GCC unroll 8
  for (int i = 1; i <= kDegree; ++i) p = multiply_add(p, r, Vec(factor * kExp2<kDegree>[i]));
  return p;
}

/// With n = round(x) and r = x - n in [-1/2, 1/2], 2^x = 2^n * 2^r. Results below 2^-125.5 are
/// exactly 0: a clamp to the smallest normal, or a denormal, would make every later product many
/// times slower. The other results are normal, and have the same bits on every level with fused
/// multiply-adds.
///
/// AVX-512 has an instruction for r, one for 2^n and masks for the zeros. Elsewhere 2^x is
/// 2^(n-1) * (2 * 2^r): adding a large number rounds x to n and leaves n + 126 in the low bits of
/// the sum; shifted into the exponent field they are the first factor, whose field is 0 for
/// n = -126. The product propagates NaN; adding n to the exponent bits instead would turn some into
/// numbers.
template <int kDegree>
HEADROOM_INLINE Vec exp2_of_degree(const Vec& unclamped) {
#if defined(HEADROOM_ISA_AVX512)
  constexpr int kToNearestInteger = 8;  // no digits behind the point, no exception
  const __m512 x = unclamped.data;
  const __mmask16 seen = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-125.5F), _CMP_NLE_UQ);
  const __m512 r = _mm512_reduce_ps(x, kToNearestInteger);
  const Vec p = exp2_near_0<kDegree>(Vec(r), 1);
  return Vec(_mm512_maskz_scalef_ps(seen, p.data, _mm512_sub_ps(x, r)));
#else
  const Vec x = max_or_second(Vec(-126.0F), unclamped);  // this order keeps NaN
  constexpr float kRound = 12582912.0F + 126.0F;         // 1.5 * 2^23, so that the sum's ulp is 1
  const Vec rounded = x + Vec(kRound);
  const Vec r = x - (rounded - Vec(kRound));
  return exp2_near_0<kDegree>(r, 2) * low_bits_as_exponent(rounded);
#endif
}
HEADROOM_INLINE Vec exp2(const Vec& x) { return exp2_of_degree<5>(x); }

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
