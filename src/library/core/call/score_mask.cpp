#include "core/call/score_mask.hpp"

#include <algorithm>
#include <limits>

namespace headroom {

namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The loop without a stride is one of its own, which compilers vectorise.
template <class T, class Value>
void read_row(const T* from, std::int64_t step, std::int64_t count, float* to, const Value& value) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value(from[i * step]);
  }
}

void read_given(const ScoreMask& mask, std::int64_t first, std::int64_t count, float* to) {
  const std::int64_t step = mask.key_stride;
  if (mask.added != nullptr) {
    read_row(mask.added + first, step, count, to, [](float value) { return value; });
  } else if (mask.added_bf16 != nullptr) {
    read_row(mask.added_bf16 + first, step, count, to, [](Bf16 value) { return value.value(); });
  } else {
    read_row(mask.seen + first, step, count, to,
             [](std::uint8_t seen) { return seen != 0 ? 0.0F : kHidden; });
  }
}

}  // namespace

void read_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row, std::int64_t key,
               std::int64_t count, float* to) {
  if (mask.is_given()) {
    read_given(mask, head * mask.head_stride + row * mask.row_stride + key * mask.key_stride, count,
               to);
  }
  if (mask.by_distance == nullptr) return;
  const float* distances = mask.by_distance + head * mask.distance_head_stride + key - row;
  if (!mask.is_given()) {
    std::copy_n(distances, count, to);
    return;
  }
  // What is hidden stays so, whatever is added to it.
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = to[i] == kHidden ? kHidden : to[i] + distances[i];
  }
}

bool add_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row, std::int64_t key,
              std::int64_t count, float* scores) {
  constexpr std::int64_t kPiece = 256;
  float piece[kPiece];
  bool any = false;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t keys = std::min(kPiece, count - begin);
    read_mask(mask, head, row, key + begin, keys, piece);
    for (std::int64_t i = 0; i < keys; ++i) {
      float& score = scores[begin + i];
      score = piece[i] == kHidden ? kHidden : score + piece[i];
      any |= score != kHidden;
    }
  }
  return any;
}

}  // namespace headroom
