// What a layer computes with and what it stores, as one value, and its name.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "headroom/export.h"
#include "headroom/precision.hpp"
#include "headroom/storage.hpp"

namespace headroom {

/// Every one, as `--precision all` has them.
inline constexpr std::array kAllPrecisions{Precision::f32,    Precision::bf16x9, Precision::bf16x6,
                                           Precision::fp16x3, Precision::bf16x3, Precision::bf16,
                                           Precision::int8};

/// f32, and what may be faster within the same error limits, most promising first. bf16x9 is left
/// out, which is more work than bf16x6.
inline constexpr std::array kPrecisionsLikeF32{Precision::f32, Precision::fp16x3,
                                               Precision::bf16x6};

/// What stands for any of these where one is asked for by name.
inline constexpr std::string_view kAnyLikeF32 = "auto";

/// The inverse of `to_string`, or nothing for `kAnyLikeF32`; empty for an unknown name.
HEADROOM_API std::optional<std::optional<Precision>> parse_asked_precision(std::string_view name);

/// Precision, dtype and storage of weights and caches together: what the rivals of a shape may
/// differ in and what they may not.
struct Numbers {
  Precision precision = Precision::f32;
  Dtype dtype = Dtype::f32;
  std::optional<Storage> weights = std::nullopt;  ///< empty: as the dtype
  std::optional<Storage> cache = std::nullopt;    ///< of keys and values; empty: as the dtype

  /// The same in f32: what is stored, whoever multiplies it. Rivals of one group share it.
  Numbers as_stored() const { return {Precision::f32, dtype, weights, cache}; }
  Storage stored_weights() const { return weights.value_or(storage_of(dtype)); }
  Storage stored_cache() const { return cache.value_or(storage_of(dtype)); }
  friend auto operator<=>(const Numbers&, const Numbers&) = default;
};

/// Such as `bf16x6`; with the dtype where that is not f32, as in `bf16-bf16`, and with what weights
/// and caches are stored as where that is not the dtype, as in `f32-wq8` and `f32-wq8-cq8`.
HEADROOM_API std::string to_string(const Numbers& numbers);

/// Precisions with one limit of the error: `f32` stands for `bf16x9`, `bf16x6` and `fp16x3`
/// as well. Only cells of one of them are rivals for a place; a less exact one would win by that
/// alone.
HEADROOM_API Precision accuracy_class(Precision precision);
/// The same of numbers: rivals store the same as well.
HEADROOM_API Numbers accuracy_class(const Numbers& numbers);

/// What is stored in words, such as `bf16` or `f32 with weights of q8`.
HEADROOM_API std::string stored_words(const Numbers& numbers);

}  // namespace headroom
