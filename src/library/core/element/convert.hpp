// Rows of float32 as bfloat16 and back.
#pragma once

#include <cstdint>

#include "headroom/precision.hpp"

namespace headroom {

/// To nearest, ties to even; as `round_to_bf16`. Rounding to bfloat16 what is one already changes
/// nothing.
inline void to_bf16(const float* from, std::int64_t count, Bf16* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = round_to_bf16(from[i]);
}

inline void from_bf16(const Bf16* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i].value();
}

}  // namespace headroom
