// Keys and values of many heads in the layout that the attention kernels read.
#pragma once

#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/head_view.hpp"
#include "simd/kernel_table.hpp"
#include "simd/stored.hpp"

namespace headroom::simd {

/// Memory for heads that follow each other. The keys of a head lie in panels of two vectors' keys,
/// each `head_dim x 2 lanes`, so that a score is a chain over `head_dim` like any other product.
/// Values lie row by row, each filled up to whole vectors.
class PackedHeads {
 public:
  PackedHeads() = default;
  /// @param keys of all heads together, each head's rounded up to whole panels
  /// @param with_values no, if the values are read where a product wrote them
  PackedHeads(const KernelTable& kernels, Dtype dtype, std::int64_t head_dim,
              std::int64_t value_dim, std::int64_t keys, bool with_values);

  /// One head.
  struct Head {
    void* keys = nullptr;
    void* values = nullptr;
  };
  /// @param first key, counted over all heads; a multiple of a panel's
  Head head(std::int64_t first);
  /// Elements from one key's values to the next.
  std::int64_t value_stride() const { return value_stride_; }

  /// Writes `count` keys, and values if they are kept, from `position` of the head on.
  /// @param k, v one block of each, from row `first_row` on
  void append(const Head& head, std::int64_t position, std::int64_t count, const AnyBlockedView& k,
              const AnyBlockedView& v, std::int64_t first_row, std::int64_t block) const;
  /// The values alone.
  void append_values(const Head& head, std::int64_t position, std::int64_t count,
                     const AnyBlockedView& v, std::int64_t first_row, std::int64_t block) const;

  /// Padding keys are scored and then masked; padding columns of values are never stored. Zeros
  /// avoid slow denormals and undefined values in both, and place the pages near this thread.
  void zero(std::int64_t first, std::int64_t count);

  /// Whole panels of another one of the same kind.
  void copy(std::int64_t first, const PackedHeads& from, std::int64_t of, std::int64_t count);

  std::int64_t bytes() const { return keys_.bytes() + values_.bytes(); }

 private:
  const StoredKernels* kernels_ = nullptr;
  Dtype dtype_ = Dtype::f32;
  std::int64_t head_dim_ = 0, value_dim_ = 0;
  std::int64_t value_stride_ = 0;
  AlignedBuffer keys_;
  AlignedBuffer values_;
};

}  // namespace headroom::simd
