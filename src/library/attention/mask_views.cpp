#include "attention/mask_views.hpp"

#include <fmt/format.h>

#include <algorithm>
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

bool is_nan(float value) { return value != value; }
bool is_nan(Bf16 value) { return (value.bits & 0x7fffU) > 0x7f80U; }

// Without a way out, so that compilers vectorise it.
template <class T>
bool any_nan(const T* row, std::int64_t stride, std::int64_t count) {
  bool any = false;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) any |= is_nan(row[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) any |= is_nan(row[i * stride]);
  }
  return any;
}

template <class T>
void check_no_nan(const char* function, const T* values, const MaskView& mask) {
  // A value that is the same for many is looked at once.
  const auto different = [](std::int64_t size, std::int64_t stride) {
    return stride == 0 ? std::min<std::int64_t>(size, 1) : size;
  };
  const std::int64_t keys = different(mask.keys, mask.key_stride);
  for (std::int64_t b = 0; b < different(mask.batch, mask.batch_stride); ++b) {
    for (std::int64_t h = 0; h < different(mask.heads, mask.head_stride); ++h) {
      for (std::int64_t t = 0; t < different(mask.queries, mask.query_stride); ++t) {
        const T* row =
            values + b * mask.batch_stride + h * mask.head_stride + t * mask.query_stride;
        if (!any_nan(row, mask.key_stride, keys)) continue;
        std::int64_t key = 0;
        while (!is_nan(row[key * mask.key_stride])) ++key;
        throw InvalidArgument(fmt::format(
            "{}: the mask is NaN for sequence {}, head {}, query {} and key {}; it must be a "
            "number, or -inf to hide a key",
            function, b, h, t, key));
      }
    }
  }
}

}  // namespace

MaskMemory check_mask(const char* function, const MaskView& mask, const MaskSizes& sizes) {
  MaskMemory memory;
  int kinds = 0;
  for (const void* one :
       {static_cast<const void*>(mask.added), static_cast<const void*>(mask.added_bf16),
        static_cast<const void*>(mask.seen)}) {
    if (one == nullptr) continue;
    memory.data = one;
    ++kinds;
  }
  if (kinds == 0) return memory;
  if (kinds > 1) {
    throw InvalidArgument(
        fmt::format("{}: the mask has several kinds of values; give one of them", function));
  }
  const std::array<Direction, 4> directions{
      {{"batch", mask.batch, sizes.batch, mask.batch_stride},
       {"heads", mask.heads, sizes.heads, mask.head_stride},
       {"queries", mask.queries, sizes.queries, mask.query_stride},
       {"keys", mask.keys, sizes.keys, mask.key_stride}}};
  memory.bytes = value_bytes(mask);
  for (const Direction& one : directions) {
    if (one.size != 1 && one.size != one.wanted) {
      throw InvalidArgument(fmt::format(
          "{}: the mask is {} x {} x {} x {} (batch, heads, queries, keys); "
          "allowed for {} are 1 and {}",
          function, mask.batch, mask.heads, mask.queries, mask.keys, one.name, one.wanted));
    }
    if (one.size < 2) continue;
    if (one.stride < 0) {
      throw InvalidArgument(fmt::format("{}: the mask has the negative stride {} of {}", function,
                                        one.stride, one.name));
    }
    memory.bytes = add_to_span("the mask", memory.bytes, one.stride, one.size, value_bytes(mask));
  }
  return memory;
}

void check_mask_values(const char* function, const MaskView& mask) {
  if (mask.added != nullptr) check_no_nan(function, mask.added, mask);
  if (mask.added_bf16 != nullptr) check_no_nan(function, mask.added_bf16, mask);
}

MaskView mask_of_heads(const MaskView& mask, std::int64_t first, std::int64_t count) {
  MaskView own = mask;
  const std::int64_t step = first * mask.head_stride;
  if (mask.added != nullptr) own.added += step;
  if (mask.added_bf16 != nullptr) own.added_bf16 += step;
  if (mask.seen != nullptr) own.seen += step;
  own.heads = count;
  return own;
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
