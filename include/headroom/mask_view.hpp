/// @file
/// A mask of scores that the caller brings to a call.
#pragma once

#include <cstdint>

#include "headroom/dtype.hpp"

namespace headroom {

/// A mask of scores, where it lies in the caller's memory: the value of sequence `b`, query head
/// `h`, query `t` and key `j` is at `b * batch_stride + h * head_stride + t * query_stride + j *
/// key_stride`. Strides count values.
struct MaskView {
  const float* added = nullptr;        ///< to the scaled scores; -inf hides a key, NaN is refused
  const Bf16* added_bf16 = nullptr;    ///< the same
  const std::uint8_t* seen = nullptr;  ///< 0 hides a key. One of the three, or none for no mask.
  /// As those of q and k, or 1: the same for all.
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  std::int64_t batch_stride = 0, head_stride = 0, query_stride = 0, key_stride = 1;

  bool any() const { return added != nullptr || added_bf16 != nullptr || seen != nullptr; }
};

}  // namespace headroom
