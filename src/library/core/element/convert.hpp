// Values of other types as float32, and back.
#pragma once

#include <bit>
#include <cstdint>

#include "headroom/dtype.hpp"

namespace headroom {

/// A number of IEEE half precision. (`_Float16` is not in every compiler that builds this.)
struct F16 {
  std::uint16_t bits = 0;

  /// The bits of the exponent and fraction, moved to the float's place, are the value over 2^112,
  /// subnormal ones included. All ones, for infinity and NaN, stay all ones.
  float value() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t rest = (bits & 0x7fffU) << 13U;
    const bool not_finite = (bits & 0x7c00U) == 0x7c00U;
    const float scaled = std::bit_cast<float>(rest) * 0x1p112F;
    return std::bit_cast<float>(
        sign | (not_finite ? rest | 0x7f800000U : std::bit_cast<std::uint32_t>(scaled)));
  }
};

/// To nearest, ties to even; infinite beyond the largest. Below the smallest normal number the sum
/// with a half has a step as large as theirs.
inline F16 round_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t rest = bits & 0x7fffffffU;
  std::uint32_t half;
  if (rest > 0x7f800000U) {
    half = 0x7e00U;
  } else if (rest >= 0x477ff000U) {  // 65520
    half = 0x7c00U;
  } else if (rest < 0x38800000U) {  // 2^-14
    const float sum = std::bit_cast<float>(rest) + 0.5F;
    half = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    half = (rest - (112U << 23U) + 0xfffU + (rest >> 13U & 1U)) >> 13U;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

/// To nearest, ties to even; as `round_to_bf16`. Rounding to bfloat16 what is one already changes
/// nothing.
inline void to_bf16(const float* from, std::int64_t count, Bf16* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = round_to_bf16(from[i]);
}

inline void from_bf16(const Bf16* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i].value();
}

}  // namespace headroom
