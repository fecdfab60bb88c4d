// What the caller adds to scores, or hides of them, as it lies in its memory.
#pragma once

#include <cstdint>

#include "headroom/dtype.hpp"

namespace headroom {

/// A mask of a call, and what a layer adds by distance. A stride of 0 says that a step in its
/// direction changes nothing. Plain loops of every instruction set see it, so it is a plain struct.
struct ScoreMask {
  const float* added = nullptr;        ///< to scores that are scaled; -inf hides a key
  const Bf16* added_bf16 = nullptr;    ///< the same
  const std::uint8_t* seen = nullptr;  ///< 0 hides a key; at most one of the three is there
  std::int64_t sequence_stride = 0, head_stride = 0, row_stride = 0, key_stride = 0;
  /// Added as well: of each head the value of row `i` and key `j` is `j - i` from here.
  const float* by_distance = nullptr;
  std::int64_t distance_head_stride = 0;
  float largest_distance = 0;  ///< the largest magnitude among them, or more

  [[gnu::always_inline]] constexpr bool is_given() const {
    return added != nullptr || added_bf16 != nullptr || seen != nullptr;
  }
  [[gnu::always_inline]] constexpr bool any() const { return is_given() || by_distance != nullptr; }
  /// Otherwise it only hides keys, and scores are what they are without it.
  [[gnu::always_inline]] constexpr bool adds() const {
    return added != nullptr || added_bf16 != nullptr || by_distance != nullptr;
  }
  [[gnu::always_inline]] constexpr std::int64_t place_of(std::int64_t head, std::int64_t row,
                                                         std::int64_t key) const {
    return head * head_stride + row * row_stride + key * key_stride;
  }

  /// Of a sequence and a head, which become the first ones, and of rows at a position.
  /// @param row, key of the sequence's first ones in the mask that is given
  [[gnu::always_inline]] constexpr ScoreMask from(std::int64_t sequence, std::int64_t head,
                                                  std::int64_t row, std::int64_t key,
                                                  std::int64_t position) const {
    const std::int64_t step = sequence * sequence_stride + place_of(head, row, key);
    ScoreMask there = *this;
    if (added != nullptr) there.added += step;
    if (added_bf16 != nullptr) there.added_bf16 += step;
    if (seen != nullptr) there.seen += step;
    if (by_distance != nullptr) there.by_distance += head * distance_head_stride - position;
    return there;
  }
};

}  // namespace headroom
