#include "core/element/cache_bytes.hpp"

#include <algorithm>
#include <bit>

namespace headroom {
namespace {

constexpr float kMost = 127;
// Of a sum with it the last bit is one, and its low byte is the other's, in two's complement.
constexpr float kToNearest = 0x1.8p23F;

struct Scale {
  F16 stored;
  float value, inverse;
};

// Magnitudes are in the order of their bits, and a NaN's are the largest.
Scale scale_of(const float* values, std::int64_t count, std::int64_t stride) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::int32_t>(values[i * stride]) & 0x7fffffff);
  }
  const F16 stored = round_to_f16(std::bit_cast<float>(largest) / kMost);
  const float value = stored.value();
  return {stored, value, value > 0 ? 1 / value : 0};
}

// The product is rounded before it is added, on every machine: limits stand in between.
std::int8_t byte_of(float value, const Scale& scale) {
  const float steps = value * scale.inverse;
  const float limited = steps > kMost ? kMost : steps < -kMost ? -kMost : steps;
  return static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(limited + kToNearest));
}

}  // namespace

F16 round_to_bytes(const float* values, std::int64_t count, std::int8_t* bytes) {
  const Scale scale = scale_of(values, count, 1);
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = byte_of(values[i], scale);
  return scale.stored;
}

void round_by_bytes(float* values, std::int64_t count, std::int64_t stride) {
  const Scale scale = scale_of(values, count, stride);
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = values[i * stride];
    value = scale.value * static_cast<float>(byte_of(value, scale));
  }
}

}  // namespace headroom
