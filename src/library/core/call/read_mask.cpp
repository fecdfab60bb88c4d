#include "core/call/read_mask.hpp"

#include <algorithm>

namespace headroom {

namespace {
struct EveryLevel;
}

bool add_mask(const ScoreMask& mask, std::int64_t head, std::int64_t row, std::int64_t key,
              std::int64_t count, float* scores) {
  constexpr std::int64_t kPiece = 256;
  float piece[kPiece];
  bool any = false;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t keys = std::min(kPiece, count - begin);
    read_mask_as<EveryLevel>(mask, head, row, key + begin, keys, piece);
    for (std::int64_t i = 0; i < keys; ++i) {
      float& score = scores[begin + i];
      score = piece[i] == kHiddenKey ? kHiddenKey : score + piece[i];
      any |= score != kHiddenKey;
    }
  }
  return any;
}

}  // namespace headroom
