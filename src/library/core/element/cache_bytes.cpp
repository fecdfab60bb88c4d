#include "core/element/cache_bytes.hpp"

#include <bit>

namespace headroom {
namespace {

struct Baseline;

struct Scale {
  F16 stored;
  float value, inverse;

  explicit Scale(std::int32_t largest)
      : stored(round_to_f16(std::bit_cast<float>(largest) / kMostByte)),
        value(stored.value()),
        inverse(value > 0 ? 1 / value : 0) {}
};

}  // namespace

F16 round_to_bytes(const float* values, std::int64_t count, std::int8_t* bytes,
                   const ByteLoops& loops) {
  const Scale scale(loops.largest_magnitude(values, count));
  loops.to_bytes(values, count, scale.inverse, bytes);
  return scale.stored;
}

void round_by_bytes(float* values, std::int64_t count, std::int64_t stride) {
  const Scale scale(largest_magnitude_as<Baseline>(values, count, stride));
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = values[i * stride];
    value = scale.value * static_cast<float>(byte_of_as<Baseline>(value, scale.inverse));
  }
}

}  // namespace headroom
