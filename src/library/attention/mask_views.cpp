#include "attention/mask_views.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>

#include "attention/heads_views.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

struct Direction {
  const char* name;
  std::int64_t size, wanted, stride;
};

std::int64_t value_bytes(const MaskView& mask) {
  if (mask.added != nullptr) return sizeof(float);
  return mask.added_bf16 != nullptr ? sizeof(Bf16) : 1;
}

}  // namespace

void check_mask(const MaskView& mask, const ConstAnyHeads& q, std::int64_t keys,
                const ConstAnyHeads& out) {
  const void* data = nullptr;
  int kinds = 0;
  for (const void* one :
       {static_cast<const void*>(mask.added), static_cast<const void*>(mask.added_bf16),
        static_cast<const void*>(mask.seen)}) {
    if (one == nullptr) continue;
    data = one;
    ++kinds;
  }
  if (kinds == 0) return;
  if (kinds > 1) {
    throw InvalidArgument("attention: the mask has several kinds of values; give one of them");
  }
  const std::array<Direction, 4> directions{{{"batch", mask.batch, q.batch, mask.batch_stride},
                                             {"heads", mask.heads, q.heads, mask.head_stride},
                                             {"queries", mask.queries, q.tokens, mask.query_stride},
                                             {"keys", mask.keys, keys, mask.key_stride}}};
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
  check_apart_from_output("the mask", data, bytes, out);
}

ScoreMask score_mask(const MaskView& mask) {
  const auto stride = [](std::int64_t size, std::int64_t of) { return size == 1 ? 0 : of; };
  return {mask.added,
          mask.added_bf16,
          mask.seen,
          stride(mask.batch, mask.batch_stride),
          stride(mask.heads, mask.head_stride),
          stride(mask.queries, mask.query_stride),
          stride(mask.keys, mask.key_stride)};
}

}  // namespace headroom
