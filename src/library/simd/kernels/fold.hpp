// Vectors whose lanes are folded into one, many at a time.
#pragma once

#include <utility>

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// One step of a transpose in registers: exchanges the off-diagonal blocks of `D` lanes of rows a
/// and b, which are `D` rows apart. The compiler's shuffle, because xsimd 8.1
/// has no transpose and its zip works within 128-bit lanes on some levels and across them on
/// others.
template <int D, int... I>
HEADROOM_INLINE void exchange(Vec& a, Vec& b, std::integer_sequence<int, I...>) {
  const auto low = __builtin_shufflevector(a.data, b.data, ((I & D) == 0 ? I : kLanes + I - D)...);
  const auto high = __builtin_shufflevector(a.data, b.data, ((I & D) == 0 ? I + D : kLanes + I)...);
  a = Vec(low);
  b = Vec(high);
}

/// Lane `i` of the result is what `fold` makes of all lanes of `v[i]`: halves are exchanged and
/// folded, so that a step makes one vector of two.
template <int D = kLanes / 2, class Fold>
HEADROOM_INLINE Vec fold_each(Vec (&v)[kLanes], const Fold& fold) {
#pragma GCC unroll 16
  for (int r = 0; r < D; ++r) {
    exchange<D>(v[r], v[r + D], std::make_integer_sequence<int, kLanes>());
    v[r] = fold(v[r], v[r + D]);
  }
  if constexpr (D > 1) return fold_each<D / 2>(v, fold);
  return v[0];
}

/// The sums.
HEADROOM_INLINE Vec sum_each(Vec (&v)[kLanes]) {
  return fold_each(
      v, [](const Vec& a, const Vec& b) __attribute__((always_inline)) { return a + b; });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
