#include "core/call/score_mask.hpp"

#include <algorithm>
#include <limits>

namespace headroom {

void read_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row, std::int64_t key,
               std::int64_t count, float* to) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const std::int64_t step = mask.key_stride;
  const std::int64_t first = head * mask.head_stride + row * mask.row_stride + key * step;
  if (mask.added != nullptr) {
    const float* from = mask.added + first;
    if (step == 1) {
      std::copy_n(from, count, to);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    return;
  }
  const std::uint8_t* from = mask.seen + first;
  if (step == 1) {  // a loop of its own, which compilers vectorise
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 0.0F : kHidden;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step] != 0 ? 0.0F : kHidden;
}

bool add_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row, std::int64_t key,
              std::int64_t count, float* scores) {
  constexpr std::int64_t kPiece = 256;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
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
