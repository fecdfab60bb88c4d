#include "simd/score_cap.hpp"

#include <cmath>
#include <numbers>

namespace headroom::simd {
namespace {

// tanh(x) / x in powers of x^2 for |x| up to kSmall, minimax in relative error: 7.2e-8. A fourth
// term would reach 0.38 with the same error, and cost another multiply-add for each vector.
constexpr double kSmall = 0.1875;
constexpr double kTerms[] = {0.99999992835, -0.33329659357, 0.13053289267};

// Below the range of the terms their error grows as the Chebyshev polynomial of degree 6 does, and
// the weight of such a score falls as its exponential. Where the range reaches down to so much, and
// the row's maximum is in its upper three quarters, the product of both is at most 5e-7 of the
// maximum's weight, like the error within the range.
constexpr double kFarBelow = 5.5;

}  // namespace

ScoreCap score_cap(double scale, double cap, double unit) {
  ScoreCap result;
  if (!(cap > 0)) return result;
  const double inverse = scale / cap;
  const double log2e = std::numbers::log2e / unit;
  result.most = static_cast<float>(log2e * cap);
  result.inverse = static_cast<float>(inverse);
  double power = log2e * scale;
  bool normal = true;
  for (int i = 0; i < 3; ++i, power *= inverse * inverse) {
    result.small_terms[i] = static_cast<float>(power * kTerms[i]);
    normal = normal && std::isnormal(result.small_terms[i]);
  }
  const double small = kSmall / inverse;
  if (normal && std::isnormal(static_cast<float>(small * small))) {
    result.small = static_cast<float>(small);
    if (small * scale >= kFarBelow) {
      result.far_above = static_cast<float>(-log2e * small * scale / 2);
    }
  } else {  // of caps beyond all measure; terms that leave -inf what it is, and take no other score
    for (float& term : result.small_terms) term = 1;
  }
  return result;
}

}  // namespace headroom::simd
