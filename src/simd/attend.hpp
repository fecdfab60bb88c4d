// Streaming attention over an executor: packs every head's keys once, then runs blocks of query
// tiles.
#pragma once

#include "core/aligned_buffer.hpp"
#include "core/executor.hpp"
#include "core/head_view.hpp"
#include "headroom/dropout.hpp"
#include "headroom/shape.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::simd {

class StreamingAttention {
 public:
  StreamingAttention(const KernelTable& kernels, const Shape& shape, const Executor& executor);

  void run(const Executor& executor, const ConstBlockedView& q, const ConstBlockedView& k,
           const ConstBlockedView& v, const BlockedView& out);

  std::int64_t workspace_bytes() const {
    return keys_.bytes() + values_.bytes() + scratch_.bytes();
  }

 private:
  void zero_padding(std::int64_t copy);
  void pack_head(const ConstBlockedView& k, const ConstBlockedView& v, std::int64_t pair,
                 std::int64_t copy);

  const KernelTable* kernels_;
  Shape shape_;
  DropoutPattern dropout_;
  std::int64_t panel_ = 0;  ///< keys, and columns of values, per panel
  /// A task is a head, whose packed keys are the slot's own. Otherwise a task is some rows of a
  /// head, and the keys of all heads are packed first.
  bool whole_heads_ = false;
  double seconds_ = 0;                ///< of a run on one thread, about
  bool in_place_ = false;             ///< values are read where they lie
  std::int64_t keys_per_head_ = 0;    ///< floats
  std::int64_t values_per_head_ = 0;  ///< floats
  std::int64_t tiles_ = 0;            ///< over a head's query rows
  std::int64_t tiles_per_task_ = 0;
  std::int64_t tasks_per_head_ = 0;
  std::int64_t scratch_per_slot_ = 0;
  AlignedBuffer keys_;
  AlignedBuffer values_;
  AlignedBuffer scratch_;
};

}  // namespace headroom::simd
