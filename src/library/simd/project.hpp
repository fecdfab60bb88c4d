// The projection over an executor: which blocks of tiles and panels become tasks.
#pragma once

#include <span>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/executor.hpp"
#include "core/head_view.hpp"
#include "headroom/view.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_matrix.hpp"
#include "simd/variants.hpp"

namespace headroom::simd {

/// Products `Y = X W (+ b)` of one X. A task packs its rows of X once for all products that it has
/// a part of. The cut into tasks depends on the number of rows and of slots, the bits of the result
/// do not: each element is one chain over the depth.
class BlockedProducts {
 public:
  /// @param weights at least one matrix, all of the same depth
  /// @param most_rows of X in a run
  /// @param bytes for weights in `GroupOrder::words`
  BlockedProducts(const KernelTable& kernels, std::vector<PackedMatrix> weights,
                  std::int64_t most_rows, const Executor& executor, const ProjectVariant& variant,
                  const FewBitsKernels* bytes = nullptr);

  /// @param y one per matrix; @param rounds floats of x count as the bf16 numbers nearest to them
  void run(const Executor& executor, const ConstAnyMatrix& x, std::span<const AnyBlockedView> y,
           bool rounds = false);

  std::span<const PackedMatrix> weights() const { return weights_; }
  std::int64_t packed_bytes() const;
  std::int64_t workspace_bytes() const { return scratch_.bytes(); }

 private:
  /// How the products of some rows become tasks.
  struct Cut {
    double seconds = 0;  ///< of a run on one thread, about
    std::int64_t tiles = 0;
    std::int64_t stage_depth = 0;
    std::int64_t row_tasks = 0;
    std::int64_t panel_tasks = 0;
  };

  bool by_bytes() const { return weights_.front().order() == GroupOrder::words; }
  Cut cut(const Executor& executor, std::int64_t rows) const;
  /// Whether a call of so many tiles prefetches panels.
  bool prefetches_panels(std::int64_t tiles) const;
  void (*kernel_for(std::int64_t tiles) const)(const ProjectTask&);
  std::int64_t task_panels() const;
  std::int64_t most_scratch(std::int64_t most_rows) const;
  std::int64_t first_panel(const Cut& cut, std::int64_t panel_task) const;
  std::int64_t collect_runs(const Cut& cut, std::int64_t panel_task,
                            std::span<const AnyBlockedView> y, PanelRun* runs) const;

  const KernelTable* kernels_;
  const FewBitsKernels* bytes_;
  std::vector<PackedMatrix> weights_;
  std::vector<std::int64_t> starts_;  ///< first panel of each matrix, counted over all; and the end
  ProjectVariant variant_;
  double weight_floats_ = 0;
  double weight_bytes_ = 0;      ///< of them packed
  std::int64_t panel_room_ = 0;  ///< floats at the end of each slot's scratch
  std::int64_t scratch_per_slot_ = 0;
  AlignedBuffer scratch_;
  std::vector<PanelRun> runs_;  ///< of each slot's task
};

}  // namespace headroom::simd
