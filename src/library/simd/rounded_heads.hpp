// Keys and values of many heads in eight bits, in the layout that the attention kernels read.
#pragma once

#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/element/cache_bytes.hpp"
#include "simd/kernel_table.hpp"
#include "simd/round_task.hpp"

namespace headroom::simd {

/// Bytes of keys and values lie in a `CacheOrder`. Beside them lie their scales, fp16 numbers: of a
/// block of keys one for each channel, filled up to whole chunks, and of a token's values one.
class RoundedHeads {
 public:
  RoundedHeads() = default;
  /// @param keys of all heads together, each head's rounded up to whole blocks
  RoundedHeads(const KernelTable& kernels, CacheOrder order, std::int64_t head_dim,
               std::int64_t value_dim, std::int64_t keys);

  /// One head.
  struct Head {
    std::int8_t* keys = nullptr;
    std::int8_t* values = nullptr;
    Half* key_scales = nullptr;
    Half* value_scales = nullptr;
  };
  /// @param first key, counted over all heads; a multiple of `kCacheBlock`
  Head head(std::int64_t first);
  /// Bytes from one key's values to the next.
  std::int64_t value_stride() const { return value_stride_; }

  /// Rounds a whole block of keys.
  /// @param position of its first; @param panels its keys as floats
  void round_keys(const Head& head, std::int64_t position, const float* panels) const;
  /// Rounds the values of `count` tokens from `position` on.
  void round_values(const Head& head, std::int64_t position, std::int64_t count,
                    const RowsOf& rows) const;

  /// As `PackedHeads::zero` and `copy`, in whole blocks.
  void zero(std::int64_t first, std::int64_t count);
  void copy(std::int64_t first, const RoundedHeads& from, std::int64_t of, std::int64_t count);

  std::int64_t bytes() const { return bytes_.bytes() + scales_.bytes(); }

 private:
  /// Where a head lies in both buffers.
  struct At {
    std::int64_t keys, values, key_scales, value_scales;
  };
  At at(std::int64_t first) const;

  const KernelTable* kernels_ = nullptr;
  CacheOrder order_ = CacheOrder::floats;
  std::int64_t key_width_ = 0;  ///< bytes of a key
  std::int64_t head_dim_ = 0, value_dim_ = 0;
  std::int64_t value_stride_ = 0;
  std::int64_t keys_ = 0;
  AlignedBuffer bytes_;   ///< of keys, then of values
  AlignedBuffer scales_;  ///< likewise
};

}  // namespace headroom::simd
