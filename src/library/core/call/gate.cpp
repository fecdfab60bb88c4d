#include "core/call/gate.hpp"

#include <bit>
#include <numbers>

namespace headroom {
namespace {

// 2^x for |x| of at most 126, a Taylor series of its fraction: no branch and no call, so that
// compilers vectorise the loop around it. The C library's exponential, once for each value, would
// take as long as a product of the layer.
float power_of_two(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to whole numbers
  const float rounded = x + kRound;
  const float r = x - (rounded - kRound);
  float p = 1.54035304e-4F;
  p = p * r + 1.33335581e-3F;
  p = p * r + 9.61812911e-3F;
  p = p * r + 5.55041087e-2F;
  p = p * r + 2.40226507e-1F;
  p = p * r + 6.93147181e-1F;
  p = p * r + 1.0F;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(rounded) << 23) +
                              std::bit_cast<std::uint32_t>(p));
}

}  // namespace

void apply_gate(const float* gates, std::int64_t count, float* values) {
  constexpr float kMost = 126;  // beyond, a sigmoid is 0 or 1 within float
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = -gates[i] * std::numbers::log2e_v<float>;
    const float low = scaled < -kMost ? -kMost : scaled;
    const float x = low > kMost ? kMost : low;
    // A NaN has passed both comparisons, and must not become a number.
    const float e = scaled == scaled ? power_of_two(x) : scaled;
    values[i] /= 1.0F + e;
  }
}

}  // namespace headroom
