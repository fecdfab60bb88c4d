/// @file
/// What values are stored as.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "headroom/export.h"

namespace headroom {

/// What values are stored as. Weights are read from all of them; x, y, packed weights and caches
/// are `f32` or `bf16`.
enum class Dtype {
  f32,
  bf16,  ///< half the memory, rounded to nearest even
  f16,   ///< IEEE half precision
};

/// `"f32"`, `"bf16"` or `"f16"`.
HEADROOM_API std::string_view to_string(Dtype dtype);
/// Inverse of `to_string` for what a layer stores, `"f32"` and `"bf16"`; empty for other names.
HEADROOM_API std::optional<Dtype> parse_dtype(std::string_view name);

/// Bytes of one value.
constexpr std::int64_t size_of(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 2; }

/// A bfloat16 number: the upper half of a float32.
struct Bf16 {
  std::uint16_t bits = 0;

  float value() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  bool operator==(const Bf16&) const = default;
};

/// To nearest, ties to even. A NaN stays one.
inline Bf16 round_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t kMagnitude = 0x7fffffff;
  constexpr std::uint32_t kInfinity = 0x7f800000;
  constexpr std::uint32_t kQuiet = 0x00400000;
  if ((bits & kMagnitude) > kInfinity) return {static_cast<std::uint16_t>((bits | kQuiet) >> 16)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/// The dtype of `float` and of `Bf16`.
template <class T>
inline constexpr Dtype kDtypeOf = [] {
  static_assert(std::is_same_v<T, Bf16> || std::is_same_v<T, float>);
  return std::is_same_v<T, Bf16> ? Dtype::bf16 : Dtype::f32;
}();

}  // namespace headroom
