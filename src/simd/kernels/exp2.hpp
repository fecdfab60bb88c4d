// 2^x for softmax: x is at most 0 there (up to rounding), NaN passes through.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// With n = round(x) and r = x - n in [-1/2, 1/2], 2^x = 2^n * 2^r. 2^r is a degree-6 polynomial,
/// minimax in relative error (2.6e-9, far below half an ulp of 6e-8; degree 5 reaches only 4.3e-7),
/// and 2^n is added to the exponent bits. Results below the smallest normal (x < -126) are 0, not
/// clamped to it: products with tiny weights would be denormal and many times slower.
HEADROOM_INLINE Vec exp2(const Vec& x) {
  const Vec n = xsimd::nearbyint(x);
  const Vec r = x - n;
  Vec p(1.5594677550860567e-4F);
  p = multiply_add(p, r, Vec(1.3406643905182138e-3F));
  p = multiply_add(p, r, Vec(9.617692974883617e-3F));
  p = multiply_add(p, r, Vec(5.5503105509953105e-2F));
  p = multiply_add(p, r, Vec(2.4022652782876183e-1F));
  p = multiply_add(p, r, Vec(6.9314721496804e-1F));
  p = multiply_add(p, r, Vec(1.0F));
  const IntVec exponent = xsimd::batch_cast<std::int32_t>(n) << 23;
  const Vec scaled = xsimd::bitwise_cast<Vec>(xsimd::bitwise_cast<IntVec>(p) + exponent);
  // A NaN takes the second branch: the polynomial has made it a NaN already, and adding to its
  // exponent must not turn it into a number.
  const Vec kept = xsimd::select(x == x, scaled, x);
  return xsimd::select(x < Vec(-126.0F), Vec(0.0F), kept);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
