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

// So few tiles find x and y in the caches; prefetches cost products of 16 and 32 rows 1 to 3 %.
constexpr std::int64_t kFewTiles = 4;

// Panels of so many bytes of weights come from far, and one tile in a dozen, or in two, waits for
// them. Those of smaller matrices are better left to that tile: prefetched early, they push rows
// and panels out of the L2.
constexpr double kFarWeights = 16e6;

// Few rows read each panel once, whose bits become floats meanwhile. From 2 MB on it pays to
// prefetch them; smaller ones, which the L2 and L3 keep, lose 4 to 8 % (journal 55).
constexpr double kFarGroups = 2e6;

// The depth in equal stages of whole chunks, or groups. A single tile reads each panel once, so
// stages would only add cost.
std::int64_t stage_depth(const PackedMatrix& weights, std::int64_t tiles) {
  const std::int64_t stages = tiles <= 1 ? 1 : divide_up(weights.depth(), kStageDepth);
  const std::int64_t unit = is_few_bits(weights.storage()) ? kGroup : kChunk;
  return round_up(divide_up(weights.depth(), stages), unit);
}

// The longer of multiplying, at two vectors of multiply-adds a cycle at 2 GHz or one at 4 GHz, and
// of reading the weights, from an L3.
double expected_seconds(const KernelTable& kernels, std::int64_t rows, double floats,
                        double bytes) {
  constexpr double kFlopsPerLane = 8e9;
  constexpr double kBytesPerSecond = 60e9;
  const double flops_per_second = kFlopsPerLane * static_cast<double>(kernels.lanes);
  return std::max(2 * static_cast<double>(rows) * floats / flops_per_second,
                  bytes / kBytesPerSecond);
}

}  // namespace

BlockedProducts::BlockedProducts(const KernelTable& kernels, std::vector<PackedMatrix> weights,
                                 std::int64_t most_rows, const Executor& executor,
                                 const ProjectVariant& variant, const FewBitsKernels* bytes)
    : kernels_(&kernels), bytes_(bytes), weights_(std::move(weights)), variant_(variant) {
  starts_ = {0};
  for (const PackedMatrix& matrix : weights_) {
    starts_.push_back(starts_.back() + matrix.panels());
    weight_floats_ += static_cast<double>(matrix.depth()) * static_cast<double>(matrix.cols());
  }
  weight_bytes_ = static_cast<double>(packed_bytes());
  const int slots =
      executor.slots_for(expected_seconds(kernels, most_rows, weight_floats_, weight_bytes_));
  if (is_few_bits(weights_.front().storage()) && !by_bytes() && most_rows > kernels.tile_rows) {
    panel_room_ = panel_room_floats(2 * kernels.lanes, stage_depth(weights_.front(), 2));
  }
  scratch_per_slot_ = round_up(most_scratch(most_rows), kChunk) + panel_room_;
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
  runs_.resize(weights_.size() * static_cast<std::size_t>(slots));
}

std::int64_t BlockedProducts::task_panels() const {
  return std::max<std::int64_t>(1, kColsPerTask / (2 * kernels_->lanes));
}

// For any number of rows up to the most: one tile takes the whole depth at once, several take it in
// stages. A task's panels may be rounded up to the widest tile's.
std::int64_t BlockedProducts::most_scratch(std::int64_t most_rows) const {
  const std::int64_t panels = std::min(starts_.back(), task_panels() + kMostTilePanels);
  const std::int64_t tiles =
      std::min<std::int64_t>(divide_up(most_rows, kernels_->tile_rows), variant_.tiles_per_task);
  if (by_bytes()) {
    return byte_scratch_floats(kernels_->tile_rows, 2 * kernels_->lanes, weights_.front().depth(),
                               tiles);
  }
  const auto floats = [&](std::int64_t of_tiles, std::int64_t stage) {
    return project_scratch_floats(kernels_->tile_rows, 2 * kernels_->lanes, stage, of_tiles,
                                  panels);
  };
  return std::max(floats(std::min<std::int64_t>(tiles, 1), stage_depth(weights_.front(), 1)),
                  floats(tiles, stage_depth(weights_.front(), 2)));
}

BlockedProducts::Cut BlockedProducts::cut(const Executor& executor, std::int64_t rows) const {
  Cut cut;
  cut.tiles = divide_up(rows, kernels_->tile_rows);
  const std::int64_t panels = starts_.back();
  cut.row_tasks = std::max<std::int64_t>(1, divide_up(cut.tiles, variant_.tiles_per_task));
  cut.panel_tasks = divide_up(panels, task_panels());
  cut.seconds = expected_seconds(*kernels_, rows, weight_floats_, weight_bytes_);
  const int slots = executor.slots_for(cut.seconds);
  if (slots > 1) {
    const std::int64_t wanted = divide_up(variant_.tasks_per_slot * slots, cut.row_tasks);
    cut.panel_tasks = std::max(cut.panel_tasks, std::min(wanted, panels));
    // Equal numbers of tasks per slot: with 21 tasks for two slots, one idles a twentieth of the
    // time.
    const std::int64_t step = slots / std::gcd<std::int64_t, std::int64_t>(slots, cut.panel_tasks);
    cut.row_tasks = std::min(round_up(cut.row_tasks, step), std::max<std::int64_t>(1, cut.tiles));
  }
  cut.stage_depth = stage_depth(weights_.front(), cut.tiles);
  return cut;
}

std::int64_t BlockedProducts::packed_bytes() const {
  std::int64_t bytes = 0;
  for (const PackedMatrix& matrix : weights_) bytes += matrix.bytes();
  return bytes;
}

// A single tile may be a wide one, over several panels, which a cut between them would forbid.
std::int64_t BlockedProducts::first_panel(const Cut& cut, std::int64_t panel_task) const {
  const std::int64_t unit = cut.tiles <= 1 ? kMostTilePanels : 1;
  const std::int64_t panels = starts_.back();
  return std::min(tile_begin(divide_up(panels, unit), cut.panel_tasks, panel_task) * unit, panels);
}

// The parts of all matrices that the task's panels belong to.
std::int64_t BlockedProducts::collect_runs(const Cut& cut, std::int64_t panel_task,
                                           std::span<const AnyBlockedView> y,
                                           PanelRun* runs) const {
  const std::int64_t begin = first_panel(cut, panel_task);
  const std::int64_t end = first_panel(cut, panel_task + 1);
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
  std::int64_t count = 0;
  for (auto m = static_cast<std::size_t>(after - starts_.begin()) - 1;
       m < weights_.size() && starts_[m] < end; ++m) {
    runs[count++] = run_of(weights_[m], std::max(begin, starts_[m]) - starts_[m],
                           std::min(end, starts_[m + 1]) - starts_[m], y[m]);
  }
  return count;
}

void (*BlockedProducts::kernel_for(std::int64_t tiles) const)(const ProjectTask&) {
  const Storage storage = weights_.front().storage();
  if (!is_few_bits(storage)) return kernels_->stored(weights_.front().dtype()).project;
  if (by_bytes()) return bytes_->of(storage);
  return (tiles <= 1 ? *kernels_->few_rows : kernels_->many_rows).of(storage);
}

bool BlockedProducts::prefetches_panels(std::int64_t tiles) const {
  if (is_few_bits(weights_.front().storage())) return weight_bytes_ >= kFarGroups;
  return variant_.prefetches && tiles > 1 && weight_floats_ * sizeof(float) >= kFarWeights;
}

void BlockedProducts::run(const Executor& executor, const ConstAnyMatrix& x,
                          std::span<const AnyBlockedView> y, bool rounds) {
  const Cut cut = this->cut(executor, x.rows);
  ProjectTask common;
  common.x = {x.data, x.dtype, rounds, x.row_stride};
  common.rows = x.rows;
  common.tiles = cut.tiles;
  common.depth = weights_.front().depth();
  common.stage_depth = cut.stage_depth;
  common.prefetch = variant_.next;
  common.pack_late = variant_.pack_late;
  common.prefetches = variant_.prefetches && cut.tiles > kFewTiles;
  common.prefetch_panels = prefetches_panels(cut.tiles);
  const auto kernel = kernel_for(cut.tiles);
  // Neighbouring tasks share panels, so that these are read from memory once.
  auto task = [&](std::int64_t index, int slot) {
    ProjectTask part = common;
    const std::int64_t row_task = index % cut.row_tasks;
    part.tile_begin = tile_begin(cut.tiles, cut.row_tasks, row_task);
    part.tile_end = tile_begin(cut.tiles, cut.row_tasks, row_task + 1);
    PanelRun* runs = runs_.data() + static_cast<std::size_t>(slot) * weights_.size();
    part.runs = runs;
    part.run_count = collect_runs(cut, index / cut.row_tasks, y, runs);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    part.panel_room = part.scratch + scratch_per_slot_ - panel_room_;
    kernel(part);
  };
  executor.run(cut.row_tasks * cut.panel_tasks, task, cut.seconds);
}

}  // namespace headroom::simd
