#include "core/element/cache_bytes.hpp"

#include <algorithm>
#include <bit>

#include "core/element/convert.hpp"

namespace headroom {
namespace {

// As bits, which have the order of magnitudes; a NaN's are the largest.
std::uint32_t largest_magnitude(const float* values, std::int64_t count, std::int64_t stride) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i * stride]) & 0x7fffffffU);
  }
  return largest;
}

// To nearest even: of a sum with it the last bit is one.
float steps_of(float value, float inverse) {
  constexpr float kToNearest = 0x1.8p23F;
  const float steps = value * inverse;
  const float limited = steps > kMostByte ? kMostByte : steps < -kMostByte ? -kMostByte : steps;
  return limited + kToNearest - kToNearest;
}

}  // namespace

void round_by_bytes(float* values, std::int64_t count, std::int64_t stride) {
  const auto largest = std::bit_cast<float>(largest_magnitude(values, count, stride));
  const float scale = round_to_f16(largest / kMostByte).value();
  const float inverse = scale > 0 ? 1 / scale : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = values[i * stride];
    value = scale * steps_of(value, inverse);
  }
}

}  // namespace headroom
