#include "simd/project.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd {
namespace {

// Packing a row costs about as much as 4 columns of its product, or more where x comes from beyond
// the L2, so a task takes many columns.
constexpr std::int64_t kColsPerTask = 1024;

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

// The longer of multiplying, at two vectors of multiply-adds a cycle at 2 GHz or one at 4 GHz, and
// of reading the weights, from an L3.
double expected_seconds(const KernelTable& kernels, std::int64_t rows,
                        const std::vector<PackedMatrix>& weights) {
  constexpr double kFlopsPerLane = 8e9;
  constexpr double kBytesPerSecond = 60e9;
  double floats = 0;
  for (const PackedMatrix& matrix : weights) {
    floats += static_cast<double>(matrix.depth()) * static_cast<double>(matrix.cols());
  }
  const double flops_per_second = kFlopsPerLane * static_cast<double>(kernels.lanes);
  return std::max(2 * static_cast<double>(rows) * floats / flops_per_second,
                  floats * sizeof(float) / kBytesPerSecond);
}

}  // namespace

BlockedProducts::BlockedProducts(const KernelTable& kernels, std::vector<PackedMatrix> weights,
                                 std::int64_t rows, const Executor& executor,
                                 const ProjectVariant& variant)
    : kernels_(&kernels), weights_(std::move(weights)), variant_(variant), rows_(rows) {
  starts_ = {0};
  for (const PackedMatrix& matrix : weights_) starts_.push_back(starts_.back() + matrix.panels());
  tiles_ = divide_up(rows_, kernels.tile_rows);
  const std::int64_t panels = starts_.back();
  const std::int64_t panel_cols = 2 * kernels.lanes;
  row_tasks_ = std::max<std::int64_t>(1, divide_up(tiles_, variant_.tiles_per_task));
  panel_tasks_ = divide_up(panels, std::max<std::int64_t>(1, kColsPerTask / panel_cols));
  seconds_ = expected_seconds(kernels, rows_, weights_);
  const int slots = executor.slots_for(seconds_);
  if (slots > 1) {
    const std::int64_t wanted = divide_up(variant_.tasks_per_slot * slots, row_tasks_);
    panel_tasks_ = std::max(panel_tasks_, std::min(wanted, panels));
    // Equal numbers of tasks per slot: with 21 tasks for two slots, one idles a twentieth of the
    // time.
    const std::int64_t step = slots / std::gcd<std::int64_t, std::int64_t>(slots, panel_tasks_);
    row_tasks_ = std::min(round_up(row_tasks_, step), std::max<std::int64_t>(1, tiles_));
  }
  stage_depth_ = stage_depth(weights_.front().depth(), tiles_);
  std::int64_t most_panels = 0;
  for (std::int64_t i = 0; i < panel_tasks_; ++i) {
    most_panels = std::max(most_panels, first_panel(i + 1) - first_panel(i));
  }
  scratch_per_slot_ = round_up(project_scratch_floats(kernels.tile_rows, panel_cols, stage_depth_,
                                                      divide_up(tiles_, row_tasks_), most_panels),
                               kChunk);
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
  runs_.resize(weights_.size() * static_cast<std::size_t>(slots));
}

std::int64_t BlockedProducts::packed_bytes() const {
  std::int64_t bytes = 0;
  for (const PackedMatrix& matrix : weights_) bytes += matrix.bytes();
  return bytes;
}

// A single tile may be a wide one, over several panels, which a cut between them would forbid.
std::int64_t BlockedProducts::first_panel(std::int64_t panel_task) const {
  const std::int64_t unit = tiles_ <= 1 ? kMostTilePanels : 1;
  const std::int64_t panels = starts_.back();
  return std::min(tile_begin(divide_up(panels, unit), panel_tasks_, panel_task) * unit, panels);
}

// The parts of all matrices that the task's panels belong to.
std::int64_t BlockedProducts::collect_runs(std::int64_t panel_task, std::span<const BlockedView> y,
                                           PanelRun* runs) const {
  const std::int64_t begin = first_panel(panel_task);
  const std::int64_t end = first_panel(panel_task + 1);
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
  std::int64_t count = 0;
  for (auto m = static_cast<std::size_t>(after - starts_.begin()) - 1;
       m < weights_.size() && starts_[m] < end; ++m) {
    const PackedMatrix& matrix = weights_[m];
    PanelRun& run = runs[count++];
    run.panels = matrix.data();
    run.bias = matrix.bias();
    run.cols = matrix.cols();
    run.panel_begin = std::max(begin, starts_[m]) - starts_[m];
    run.panel_end = std::min(end, starts_[m + 1]) - starts_[m];
    run.y = y[m].data;
    run.y_stride = y[m].row_stride;
    run.block_cols = y[m].block_cols;
    run.block_stride = y[m].block_stride;
  }
  return count;
}

void BlockedProducts::run(const Executor& executor, ConstMatrixView x,
                          std::span<const BlockedView> y) {
  ProjectTask common;
  common.x = x.data;
  common.x_stride = x.row_stride;
  common.rows = rows_;
  common.tiles = tiles_;
  common.depth = weights_.front().depth();
  common.stage_depth = stage_depth_;
  common.ask = variant_.next;
  common.pack_late = variant_.pack_late;
  common.ask_for_y = variant_.ask_for_y;
  // Neighbouring tasks share panels, so that these are read from memory once.
  auto task = [&](std::int64_t index, int slot) {
    ProjectTask part = common;
    const std::int64_t row_task = index % row_tasks_;
    part.tile_begin = tile_begin(tiles_, row_tasks_, row_task);
    part.tile_end = tile_begin(tiles_, row_tasks_, row_task + 1);
    PanelRun* runs = runs_.data() + static_cast<std::size_t>(slot) * weights_.size();
    part.runs = runs;
    part.run_count = collect_runs(index / row_tasks_, y, runs);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    kernels_->project(part);
  };
  executor.run(row_tasks_ * panel_tasks_, task, seconds_);
}

}  // namespace headroom::simd
