/// @file
/// What weights are stored as.
#pragma once

#include <optional>
#include <string_view>

#include "headroom/dtype.hpp"
#include "headroom/export.h"

namespace headroom {

/// What weights are stored as. Those of few bits are groups of 32 along the depth of a product that
/// share a scale, an fp16 number `d`; products expand them and compute with floats or with parts of
/// them, as the precision says. The groups are those of the GGUF types Q8_0 and Q4_0, so weights of
/// such a file are not rounded again.
enum class Storage {
  f32,
  bf16,
  q8,  ///< `d q` with q from -127 to 127 and `d = max |w| / 127`: 34 bytes for 32 weights
  q4,  ///< `d q` with q from -8 to 7, the weight of largest magnitude as -8: 18 bytes
};

/// `"f32"`, `"bf16"`, `"q8"` or `"q4"`.
HEADROOM_API std::string_view to_string(Storage storage);
/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Storage> parse_storage(std::string_view name);

/// Whether groups of weights share a scale.
constexpr bool is_few_bits(Storage storage) {
  return storage == Storage::q8 || storage == Storage::q4;
}

/// What a dtype stores weights as. @pre it is f32 or bf16
constexpr Storage storage_of(Dtype dtype) {
  return dtype == Dtype::f32 ? Storage::f32 : Storage::bf16;
}

}  // namespace headroom
