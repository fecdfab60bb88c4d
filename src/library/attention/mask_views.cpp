#include "attention/mask_views.hpp"

#include <fmt/format.h>

#include <array>

#include "attention/heads_views.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

struct Direction {
  const char* name;
  std::int64_t size, wanted, stride;
};

std::int64_t value_bytes(const MaskView& mask) {
  return mask.added != nullptr ? std::int64_t{sizeof(float)} : 1;
}

}  // namespace

void check_mask(const MaskView& mask, const ConstAnyHeads& q, const ConstAnyHeads& k,
                const ConstAnyHeads& out) {
  if (mask.added == nullptr && mask.seen == nullptr) return;
  if (mask.added != nullptr && mask.seen != nullptr) {
    throw InvalidArgument(
        "attention: the mask has values to add and values that hide; give one of the two");
  }
  const std::array<Direction, 4> directions{{{"batch", mask.batch, q.batch, mask.batch_stride},
                                             {"heads", mask.heads, q.heads, mask.head_stride},
                                             {"queries", mask.queries, q.tokens, mask.query_stride},
                                             {"keys", mask.keys, k.tokens, mask.key_stride}}};
  std::int64_t bytes = value_bytes(mask);
  for (const Direction& one : directions) {
    if (one.size != 1 && one.size != one.wanted) {
      throw InvalidArgument(
          fmt::format("attention: the mask is {} x {} x {} x {} (batch, heads, queries, keys); "
                      "allowed for {} are 1 and {}",
                      mask.batch, mask.heads, mask.queries, mask.keys, one.name, one.wanted));
    }
    if (one.size < 2) continue;
    if (one.stride < 0) {
      throw InvalidArgument(fmt::format("attention: the mask has the negative stride {} of {}",
                                        one.stride, one.name));
    }
    bytes = add_to_span("the mask", bytes, one.stride, one.size, value_bytes(mask));
  }
  const void* data = mask.added != nullptr ? static_cast<const void*>(mask.added) : mask.seen;
  check_apart_from_output("the mask", data, bytes, out);
}

ScoreMask score_mask(const MaskView& mask) {
  const auto stride = [](std::int64_t size, std::int64_t of) { return size == 1 ? 0 : of; };
  return {mask.added,
          mask.seen,
          stride(mask.batch, mask.batch_stride),
          stride(mask.heads, mask.head_stride),
          stride(mask.queries, mask.query_stride),
          stride(mask.keys, mask.key_stride)};
}

}  // namespace headroom
