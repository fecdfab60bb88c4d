// tanh(x) for caps of scores; NaN passes through.
#pragma once

#include "simd/kernels/exp2.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Below this size tanh is a polynomial; above, one minus a small quotient loses nothing.
inline constexpr float kSmallTanh = 0.55F;

/// x + x z P(z) with z = x^2, minimax in relative error on +-kSmallTanh: 3.7e-8, and 1.1e-7 with
/// all roundings.
HEADROOM_INLINE Vec small_tanh(const Vec& x) {
  const Vec z = x * x;
  Vec p(0.0164375808F);
  p = multiply_add(p, z, Vec(-0.0526718125F));
  p = multiply_add(p, z, Vec(0.133207247F));
  p = multiply_add(p, z, Vec(-0.333329469F));
  return multiply_add(x * z, p, x);
}

/// Scores seldom reach half of a cap, so most vectors need no exponential.
HEADROOM_INLINE Vec tanh(const Vec& x) {
  const Vec small = small_tanh(x);
  const Vec absolute = xsimd::abs(x);
  if (!xsimd::any(absolute > Vec(kSmallTanh))) [[likely]]
    return small;
  constexpr float kMinusTwoLog2e = -2.88539008F;
  const Vec e = exp2(absolute * Vec(kMinusTwoLog2e));
  const Vec large = (Vec(1.0F) - e) / (Vec(1.0F) + e);
  const Vec of_sign = xsimd::select(x < Vec(0.0F), Vec(0.0F) - large, large);
  return xsimd::select(absolute > Vec(kSmallTanh), of_sign, small);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
