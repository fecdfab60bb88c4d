// The projection over an executor: which blocks of tiles and panels become tasks.
#pragma once

#include "core/aligned_buffer.hpp"
#include "core/executor.hpp"
#include "core/head_view.hpp"
#include "headroom/view.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_matrix.hpp"

namespace headroom::simd {

/// `Y = X W (+ b)` for a fixed number of rows, cut into tasks at set-up. The cut depends on the
/// number of slots, the bits of the result do not: each element is one chain over the depth.
class BlockedProduct {
 public:
  BlockedProduct(const KernelTable& kernels, PackedMatrix weights, std::int64_t rows, int slots);

  void run(const Executor& executor, ConstMatrixView x, const BlockedView& y);

  std::int64_t packed_bytes() const { return weights_.bytes(); }
  std::int64_t workspace_bytes() const { return scratch_.bytes(); }

 private:
  const KernelTable* kernels_;
  PackedMatrix weights_;
  std::int64_t rows_ = 0;
  std::int64_t tiles_ = 0;
  std::int64_t stage_depth_ = 0;
  std::int64_t row_tasks_ = 0;
  std::int64_t panel_tasks_ = 0;
  std::int64_t scratch_per_slot_ = 0;
  AlignedBuffer scratch_;
};

}  // namespace headroom::simd
