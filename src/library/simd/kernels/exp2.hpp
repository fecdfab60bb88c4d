// 2^x for softmax: x is at most 0 there (up to rounding), NaN passes through.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

// Not exported: a specialised variable template would be, whatever the compiler hides otherwise.
namespace {

/// Minimax coefficients of 2 * 2^r on [-1/2, 1/2] with a constant term of 2, the highest first.
template <int kDegree>
constexpr float kExp2[kDegree + 1] = {};
template <>
constexpr float kExp2<6>[7] = {2 * 1.5594677550860567e-4F,
                               2 * 1.3406643905182138e-3F,
                               2 * 9.617692974883617e-3F,
                               2 * 5.5503105509953105e-2F,
                               2 * 2.4022652782876183e-1F,
                               2 * 6.9314721496804e-1F,
                               2.0F};
/// 9.2e-8: for weights that are then cut into two parts.
template <>
constexpr float kExp2<5>[6] = {2 * 1.3264727253e-3F, 2 * 9.6715127859e-3F, 2 * 5.5507337445e-2F,
                               2 * 2.4022242083e-1F, 2 * 6.9314697760e-1F, 2.0F};
/// 1.0e-4: for weights that are then rounded to bfloat16, which is off by up to 2e-3.
template <>
constexpr float kExp2<3>[4] = {2 * 5.5008931263e-2F, 2 * 2.4221096785e-1F, 2 * 6.9328292806e-1F,
                               2.0F};

}  // namespace

/// With n = round(x) and r = x - n in [-1/2, 1/2], 2^x = 2^(n-1) * (2 * 2^r). The second factor is
/// a degree-6 polynomial, minimax in relative error (2.6e-9, far below half an ulp of 6e-8; degree
/// 5 reaches only 4.3e-7). Adding a large number rounds x to n and leaves n + 126 in the low bits
/// of the sum; shifted into the exponent field they are the first factor. For n = -126 that field
/// is 0, so results below 2^-125.5 are exactly 0: a clamp to the smallest normal, or a denormal,
/// would make every later product many times slower. The other results are normal.
///
/// The product propagates NaN; adding n to the exponent bits instead would turn some into numbers.
template <int kDegree>
HEADROOM_INLINE Vec exp2_of_degree(const Vec& unclamped) {
  const Vec x = max_or_second(Vec(-126.0F), unclamped);  // this order keeps NaN
  constexpr float kRound = 12582912.0F + 126.0F;         // 1.5 * 2^23, so that the sum's ulp is 1
  const Vec rounded = x + Vec(kRound);
  const Vec r = x - (rounded - Vec(kRound));
  Vec p(kExp2<kDegree>[0]);
#pragma GCC unroll 8
  for (int i = 1; i <= kDegree; ++i) p = multiply_add(p, r, Vec(kExp2<kDegree>[i]));
  return p * low_bits_as_exponent(rounded);
}
HEADROOM_INLINE Vec exp2(const Vec& unclamped) { return exp2_of_degree<6>(unclamped); }

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
