/// @file
/// What products compute with.
#pragma once

#include <optional>
#include <string_view>

#include "headroom/dtype.hpp"
#include "headroom/export.h"

namespace headroom {

/// The arithmetic of products. Sums, softmax, inputs and outputs are float32 always.
///
/// A float32 number is the sum of three bfloat16 parts. The products of the largest parts, summed
/// in float32, are what the number behind the name counts (Henry, Tang, Heinecke, "Leveraging the
/// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019). Two parts
/// of fp16 hold 23 of its 24 bits, over fewer magnitudes: `fp16x3` scales each row and each 32
/// columns by a power of two, and leaves to `f32` what two parts of them do not carry. Its
/// attention is that of `bf16x6`, which is faster there.
///
/// Weights in few bits can be multiplied as they are stored: `int8` rounds each row of x, in groups
/// of 32, to 8 bits with a scale, adds the products of a group as integers, and groups in float32.
/// Its attention multiplies the bytes of a cache of `Storage::q8` as well, and is that of `f32`
/// over any other: queries are rounded as rows of x are, in groups of 32 channels, attention
/// weights to 0 to 255, in groups of 32 keys. Keys of a query's own block of 64 are floats, and so
/// are products with them.
enum class Precision {
  f32,     ///< float32 products
  bf16x9,  ///< all products of three parts: a check of `bf16x6`
  bf16x6,  ///< three parts, six products: as accurate as `f32`
  bf16x3,  ///< two parts, three products: about a tenth of the accuracy of `f32`
  bf16,    ///< operands rounded to bfloat16, one product
  fp16x3,  ///< two parts of fp16, three products: as accurate as `f32`; after the others, so that
           ///< their values stay what they were
  int8,    ///< bytes: rows of x rounded to 8 bits, times weights of `Storage::q8` or
           ///< `q4`; queries and attention weights likewise, times a cache of `q8`
};

/// `"f32"`, `"bf16x9"`, `"bf16x6"`, `"fp16x3"`, `"bf16x3"`, `"bf16"` or `"int8"`.
HEADROOM_API std::string_view to_string(Precision precision);
/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Precision> parse_precision(std::string_view name);

}  // namespace headroom
