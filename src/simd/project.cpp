#include "simd/project.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd {
namespace {

// A task's packed rows (12 x 14 x 768 floats = 504 KiB) stay in the L2 beside the panels that
// stream through it.
constexpr std::int64_t kTilesPerTask = 12;
// Packing a row costs about as much as 4 columns of its product, or more where x comes from beyond
// the L2, so a task takes many columns.
constexpr std::int64_t kColsPerTask = 1024;
// Enough tasks that the other slots idle only briefly while the last one finishes.
constexpr std::int64_t kTasksPerSlot = 8;

// Long stages, because a tile's partial sums are stored and reloaded between two of them. A panel's
// stage (2 vectors x 768 = 96 KiB on AVX-512) is read again for every row tile from the L2; shorter
// stages whose panel would stay in the L1 were slower (reports/speed-journal.md).
constexpr std::int64_t kStageDepth = 768;

// The depth in equal stages of whole chunks. A single tile reads each panel once, so stages would
// only add cost.
std::int64_t stage_depth(std::int64_t depth, std::int64_t tiles) {
  const std::int64_t stages = tiles <= 1 ? 1 : divide_up(depth, kStageDepth);
  return round_up(divide_up(depth, stages), kChunk);
}

}  // namespace

BlockedProduct::BlockedProduct(const KernelTable& kernels, PackedMatrix weights, std::int64_t rows,
                               int slots)
    : kernels_(&kernels), weights_(std::move(weights)), rows_(rows) {
  tiles_ = divide_up(rows_, kernels.tile_rows);
  const std::int64_t panels = weights_.panels();
  const std::int64_t panel_cols = 2 * kernels.lanes;
  row_tasks_ = std::max<std::int64_t>(1, divide_up(tiles_, kTilesPerTask));
  panel_tasks_ = divide_up(panels, std::max<std::int64_t>(1, kColsPerTask / panel_cols));
  if (slots > 1) {
    const std::int64_t wanted = divide_up(kTasksPerSlot * slots, row_tasks_);
    panel_tasks_ = std::max(panel_tasks_, std::min(wanted, panels));
    // Equal numbers of tasks per slot: with 21 tasks for two slots, one idles a twentieth of the
    // time.
    const std::int64_t step = slots / std::gcd<std::int64_t, std::int64_t>(slots, panel_tasks_);
    row_tasks_ = std::min(round_up(row_tasks_, step), std::max<std::int64_t>(1, tiles_));
  }
  stage_depth_ = stage_depth(weights_.depth(), tiles_);
  scratch_per_slot_ =
      project_scratch_floats(kernels.tile_rows, panel_cols, stage_depth_,
                             divide_up(tiles_, row_tasks_), divide_up(panels, panel_tasks_));
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
}

void BlockedProduct::run(const Executor& executor, ConstMatrixView x, const BlockedView& y) {
  ProjectTask common;
  common.x = x.data;
  common.x_stride = x.row_stride;
  common.rows = rows_;
  common.tiles = tiles_;
  common.depth = weights_.depth();
  common.stage_depth = stage_depth_;
  common.panels = weights_.data();
  common.bias = weights_.bias();
  common.cols = weights_.cols();
  common.y = y.data;
  common.y_stride = y.row_stride;
  common.block_cols = y.block_cols;
  common.block_stride = y.block_stride;
  // Neighbouring tasks share panels, so that these are read from memory once.
  auto task = [&](std::int64_t index, int slot) {
    ProjectTask part = common;
    const std::int64_t row_task = index % row_tasks_;
    const std::int64_t panel_task = index / row_tasks_;
    part.tile_begin = tile_begin(tiles_, row_tasks_, row_task);
    part.tile_end = tile_begin(tiles_, row_tasks_, row_task + 1);
    part.panel_begin = tile_begin(weights_.panels(), panel_tasks_, panel_task);
    part.panel_end = tile_begin(weights_.panels(), panel_tasks_, panel_task + 1);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    kernels_->project(part);
  };
  executor.run(row_tasks_ * panel_tasks_, task);
}

}  // namespace headroom::simd
