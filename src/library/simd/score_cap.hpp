// A cap on scores as the kernels take it.
#pragma once

#include <limits>

namespace headroom::simd {

/// A score s becomes `most * tanh(s * inverse)`. Where |s| is at most `small` that is
/// `s (t0 + t1 s^2 + t2 s^4)` for `small_terms` t, of which t2 is above 0: -inf stays -inf.
struct ScoreCap {
  float most = 0;     ///< `log2(e)` times that of scaled scores, over a unit; 0 for none
  float inverse = 0;  ///< the scale of scores over their cap
  float small = -1;   ///< below 0: no score is small
  float small_terms[3] = {};
  /// Beside a capped maximum of at least so much, every score up to `small` may count as small.
  float far_above = std::numeric_limits<float>::infinity();

  [[gnu::always_inline]] bool any() const { return most > 0; }
};

/// @param scale of scores; @param cap of scaled scores, 0 for none
/// @param unit a power of 2: capped scores are exponents of 2 over it
ScoreCap score_cap(double scale, double cap, double unit = 1);

}  // namespace headroom::simd
