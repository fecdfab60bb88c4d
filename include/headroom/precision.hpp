/// @file
/// What products compute with, and what is stored.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// The arithmetic of products. Sums, softmax, inputs and outputs are float32 always.
///
/// A float32 number is the sum of three bfloat16 parts. The products of the largest parts, summed
/// in float32, are what the number behind the name counts (Henry, Tang, Heinecke, "Leveraging the
/// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019). Two parts
/// of fp16 hold 23 of its 24 bits, over fewer magnitudes: `fp16x3` scales each row and each 32
/// columns by a power of two, and leaves to `f32` what two parts of them do not carry. Its
/// attention is that of `bf16x6`, which is faster there.
enum class Precision {
  f32,     ///< float32 products
  bf16x9,  ///< all products of three parts: a check of `bf16x6`
  bf16x6,  ///< three parts, six products: as accurate as `f32`
  bf16x3,  ///< two parts, three products: about a tenth of the accuracy of `f32`
  bf16,    ///< operands rounded to bfloat16, one product
  fp16x3,  ///< two parts of fp16, three products: as accurate as `f32`; last, so that the values of
           ///< the others stay what they were
};

/// What x, y, weights and a cache are stored as.
enum class Dtype {
  f32,
  bf16,  ///< half the memory, rounded to nearest even
};

/// `"f32"`, `"bf16x9"`, `"bf16x6"`, `"fp16x3"`, `"bf16x3"` or `"bf16"`.
HEADROOM_API std::string_view to_string(Precision precision);
/// `"f32"` or `"bf16"`.
HEADROOM_API std::string_view to_string(Dtype dtype);
/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Precision> parse_precision(std::string_view name);
HEADROOM_API std::optional<Dtype> parse_dtype(std::string_view name);

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

using Bf16MatrixView = BasicMatrixView<Bf16>;
using ConstBf16MatrixView = BasicMatrixView<const Bf16>;

}  // namespace headroom
