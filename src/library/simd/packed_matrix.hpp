// Weights in the order in which the kernels read them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/executor.hpp"
#include "core/head_view.hpp"
#include "core/rounding.hpp"
#include "headroom/storage.hpp"
#include "headroom/view.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_groups.hpp"
#include "simd/stored.hpp"

namespace headroom::simd {

/// A matrix cut into panels of two vectors' columns, each stored row by row of the depth, so that a
/// product streams it in order. Columns beyond the last are zero up to a whole vector; if one
/// vector holds the rest, the last panel is one vector wide. Panel `p` starts at weight `p * 2 *
/// lanes * depth`, the depth in whole groups for few bits.
class PackedMatrix {
 public:
  /// @param parts matrices of equal depth, side by side, read where they lie: columns whose values
  ///        are neighbours, as of `nn.Linear`, are turned in registers
  /// @param biases one row per part, or empty
  /// @param storage of the panels; biases stay float
  /// @param executor writes the panels in the task order of a product, because a page of memory is
  ///        placed near the core that writes it first
  /// @param order of few bits
  PackedMatrix(const std::vector<ConstAnyMatrix>& parts, const std::vector<ConstAnyMatrix>& biases,
               const KernelTable& kernels, Storage storage, const Executor& executor,
               GroupOrder order = GroupOrder::rows);

  std::int64_t depth() const { return depth_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t panels() const { return divide_up(cols_, panel_cols_); }
  const void* data() const { return data_.data(); }
  Storage storage() const { return storage_; }
  GroupOrder order() const { return order_; }
  /// @pre the panels are not of few bits.
  Dtype dtype() const { return dtype_of(storage_); }
  const float* bias() const { return bias_.data(); }
  std::int64_t bytes() const { return data_.bytes() + bias_.bytes(); }

 private:
  void pack_panel(const std::vector<ConstAnyMatrix>& parts, std::int64_t first_col,
                  std::int64_t width, const StoredKernels& stored);
  void pack_part(const ConstAnyMatrix& part, std::int64_t first_col, std::int64_t width,
                 std::int64_t at, const StoredKernels& stored);

  std::int64_t depth_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t panel_cols_ = 0;
  Storage storage_ = Storage::f32;
  GroupOrder order_ = GroupOrder::rows;
  AlignedBuffer data_;
  AlignedBuffer bias_;
};

/// The run of some of its panels, whose products go to `y`.
PanelRun run_of(const PackedMatrix& matrix, std::int64_t panel_begin, std::int64_t panel_end,
                const AnyBlockedView& y);

}  // namespace headroom::simd
