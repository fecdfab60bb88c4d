// Reads a mask, for whatever instruction set it is compiled for.
#pragma once

#include <cstdint>
#include <limits>

#include "core/call/score_mask.hpp"
#include "headroom/export.h"

namespace headroom {

/// Of a key that a row does not see.
inline constexpr float kHiddenKey = -std::numeric_limits<float>::infinity();

namespace mask_reading {

// The loop without a stride is one of its own, which compilers vectorise.
template <class T, class Value>
[[gnu::always_inline]] inline void read_row(const T* from, std::int64_t step, std::int64_t count,
                                            float* to, const Value& value) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value(from[i * step]);
  }
}

template <class Level>
[[gnu::always_inline]] inline void read_given(const ScoreMask& mask, std::int64_t first,
                                              std::int64_t count, float* to) {
  const std::int64_t step = mask.key_stride;
  if (mask.added != nullptr) {
    read_row(
        mask.added + first, step, count, to,
        [](float value) __attribute__((always_inline)) { return value; });
  } else if (mask.added_bf16 != nullptr) {
    read_row(
        mask.added_bf16 + first, step, count, to,
        [](Bf16 value) __attribute__((always_inline)) { return value.value(); });
  } else {
    read_row(
        mask.seen + first, step, count, to, [](std::uint8_t seen) __attribute__((always_inline)) {
          return seen != 0 ? 0.0F : kHiddenKey;
        });
  }
}

}  // namespace mask_reading

/// Writes what is added to the scores of a row for `count` keys from `key` on; -inf for hidden
/// ones.
/// @tparam Level any type that only code of one instruction set has, so that none links another's
template <class Level>
[[gnu::always_inline]] inline void read_mask_as(const ScoreMask& mask, std::int64_t head,
                                                std::int64_t row, std::int64_t key,
                                                std::int64_t count, float* to) {
  if (mask.is_given()) {
    mask_reading::read_given<Level>(mask, mask.place_of(head, row, key), count, to);
  }
  if (mask.by_distance == nullptr) return;
  const float* distances = mask.by_distance + head * mask.distance_head_stride + key - row;
  if (!mask.is_given()) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = distances[i];
    return;
  }
  // What is hidden stays so, whatever is added to it.
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = to[i] == kHiddenKey ? kHiddenKey : to[i] + distances[i];
  }
}

/// Adds the mask to a row's scores, which are scaled, for `count` keys from `key` on.
/// @return whether any of them is above -inf, or NaN
HEADROOM_API bool add_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row,
                           std::int64_t key, std::int64_t count, float* scores);

}  // namespace headroom
