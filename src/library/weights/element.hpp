// Element types of stored tensors, and their conversion to float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/export.h"

namespace headroom::weights {

/// Types that become weights. Values are little-endian; those below f64 are ggml's, which come in
/// blocks that share a scale or several.
enum class Element { f16, bf16, f32, f64, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k };

/// Values of a block; 1 where each stands for itself.
HEADROOM_API std::int64_t values_per_block(Element type);

/// Bytes of `count` values, whole blocks of them.
HEADROOM_API std::int64_t bytes_of(Element type, std::int64_t count);

/// Such as `f32`.
HEADROOM_API std::string_view to_string(Element type);

/// Converts `out.size()` values. Every f16, bf16 and f32 keeps its value, and so do those of q8_0,
/// q4_0, q5_0 and q6_k; one that is a sum of a multiple of a scale and an offset is rounded once,
/// and an f64 is rounded.
/// @param bytes of as many values, whole blocks of them
/// @return the index of the first finite f64 beyond the range of float, if there is one
HEADROOM_API std::optional<std::size_t> to_floats(Element type, std::span<const char> bytes,
                                                  std::span<float> out);

/// The product of sizes. Empty if one is negative, or if the product of those that are not 0 is
/// above 2^62: a 0 beside absurd sizes makes them no less absurd.
HEADROOM_API std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims);

}  // namespace headroom::weights
