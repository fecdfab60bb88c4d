// Weights in few bits: groups of neighbours along the depth that share a scale.
#pragma once

#include <array>
#include <cstdint>

#include "core/element/convert.hpp"
#include "headroom/export.h"
#include "headroom/storage.hpp"
#include "headroom/view.hpp"

namespace headroom {

/// Weights of a group. The last of a depth may have fewer.
inline constexpr std::int64_t kGroup = 32;

/// Weights `scale * values[i]`, which a float holds exactly.
struct WeightGroup {
  F16 scale;
  std::array<std::int8_t, kGroup> values{};

  /// Of a value, in two's complement.
  std::uint32_t bits(std::int64_t i) const {
    return static_cast<std::uint8_t>(values[static_cast<std::size_t>(i)]);
  }
  float weight(std::int64_t i) const {
    return scale.value() * static_cast<float>(values[static_cast<std::size_t>(i)]);
  }
};

/// As the GGUF types Q8_0 and Q4_0 are rounded: a weight times the inverse of the scale before that
/// becomes an fp16 number, halves away from zero.
/// @param storage of few bits
/// @param weights `count` of them, up to `kGroup`, `stride` floats apart; those that are missing
///        count as zeros
HEADROOM_API WeightGroup store_group(Storage storage, const float* weights, std::int64_t count,
                                     std::int64_t stride);

/// Rounds weights to what is stored of them; each column is a depth.
HEADROOM_API void round_weights(Storage storage, MatrixView weights);

/// @throws InvalidArgument with the name if a weight is not finite, or so large that its scale is
///         no finite fp16 number
HEADROOM_API void check_storable(Storage storage, const char* name, const ConstAnyMatrix& weights);

/// Bytes of weights, in whole groups where they share a scale.
/// @param count a multiple of `kGroup` there
[[gnu::always_inline]] constexpr std::int64_t storage_bytes(Storage storage, std::int64_t count) {
  switch (storage) {
    case Storage::f32:
      return count * std::int64_t{sizeof(float)};
    case Storage::bf16:
      return count * std::int64_t{sizeof(Bf16)};
    case Storage::q8:
      return count / kGroup * (kGroup + std::int64_t{sizeof(F16)});
    default:
      return count / kGroup * (kGroup / 2 + std::int64_t{sizeof(F16)});
  }
}

}  // namespace headroom
