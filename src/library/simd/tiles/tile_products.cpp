#include "simd/tiles/tile_products.hpp"

#include <algorithm>

#include "core/rounding.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd {
namespace {

// A whole depth of this size in one stage needs no partial sums; its rows still fit in an L2 of
// 2 MiB (measured on Granite Rapids, as are the next).
constexpr std::int64_t kWholeDepth = 1024;
// Of fp16 parts, whose products are summed in one chain: longer ones lose a fifth of a bit, and the
// range check passes less often.
constexpr std::int64_t kFp16Depth = 768;
constexpr std::int64_t kTaskRows = 256;  // 512 are a fifth slower
// Each stage cuts its rows anew, which costs more than its partial sums outside of the L2.
constexpr std::int64_t kStagedBlocks = 128;
constexpr std::int64_t kWholeBlocks = 64;
constexpr std::int64_t kTasksPerSlot = 2;

// Equal stages of whole tile products.
std::int64_t stage_depth(const TileChoice& choice, std::int64_t depth) {
  const std::int64_t whole = choice.precision == Precision::fp16x3 ? kFp16Depth : kWholeDepth;
  const std::int64_t stages = depth <= whole ? 1 : divide_up(depth, choice.kernels->longest_stage);
  return round_up(divide_up(depth, stages), kTileDepth);
}

// At several times the rate of f32: this only decides whether threads are worth waking.
double expected_seconds(std::int64_t rows, double floats) {
  constexpr double kFlopsPerSecond = 300e9;
  return 2 * static_cast<double>(rows) * floats / kFlopsPerSecond;
}

}  // namespace

TileChoice choose_tiles(const Target& target, Precision precision, const CoreFacts& core,
                        Storage weights) {
  const TileKernels* unit = tile_unit(target, precision);
  if (unit == nullptr) return {};
  const TilePrecision* kernels = tile_precision(target, precision);
  const RowBorder& border = is_few_bits(weights) ? kernels->border_of_groups
                            : core.does_two()    ? kernels->border_of_two
                                                 : kernels->border;
  return {kernels, precision, border.few_rows, unit->unit, border.measured_on};
}

TileProducts::TileProducts(const TileChoice& choice, const KernelTable& f32,
                           std::span<const PackedMatrix> weights, std::int64_t most_rows,
                           const Executor& executor)
    : choice_(choice), f32_(&f32), weights_(weights), depth_(weights.front().depth()) {
  starts_ = {0};
  for (const PackedMatrix& matrix : weights_) {
    starts_.push_back(starts_.back() + divide_up(matrix.cols(), kTileBlock));
    weight_floats_ += static_cast<double>(matrix.depth()) * static_cast<double>(matrix.cols());
  }
  stage_depth_ = stage_depth(choice, depth_);
  const bool staged = stage_depth_ < depth_;
  const bool few_bits = is_few_bits(weights_.front().storage());
  task_blocks_ = std::min(starts_.back(), staged ? kStagedBlocks : kWholeBlocks);
  const std::int64_t rows = std::min(round_up(most_rows, kTileBlock), kTaskRows);
  const TileProjectSizes sizes{choice.precision, rows,         depth_,
                               stage_depth_,     task_blocks_, few_bits};
  scratch_per_slot_ =
      round_up(tile_project_scratch(sizes, f32.tile_rows, f32.lanes).floats, kChunk);
  const int slots = executor.slots_for(expected_seconds(most_rows, weight_floats_));
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
  runs_.resize(weights_.size() * static_cast<std::size_t>(slots));
  cut_rows_.resize(static_cast<std::size_t>(slots));
  cut_weights(executor);
}

// By the tasks of the executor, so that pages lie near the cores that read them.
void TileProducts::cut_weights(const Executor& executor) {
  for (const PackedMatrix& matrix : weights_) {
    const std::int64_t blocks = divide_up(matrix.cols(), kTileBlock);
    bad_.emplace_back(static_cast<std::size_t>(blocks));
    ranges_.emplace_back();
    if (is_few_bits(matrix.storage())) {
      parts_.emplace_back();
      continue;
    }
    const std::int64_t parts = right_part_count(choice_.precision, matrix.dtype());
    parts_.emplace_back(blocks * cut_block_halves(parts, depth_) / 2);
    if (choice_.precision == Precision::fp16x3) {
      ranges_.back().resize(static_cast<std::size_t>(blocks * stage_count(depth_, stage_depth_)));
    }
    TileCutTask all;
    all.panels = matrix.data();
    all.dtype = matrix.dtype();
    all.cols = matrix.cols();
    all.depth = depth_;
    all.parts = reinterpret_cast<Half*>(parts_.back().data());
    all.bad = bad_.back().data();
    all.stage_depth = stage_depth_;
    all.ranges = ranges_.back().data();
    auto task = [&](std::int64_t block, int) {
      TileCutTask part = all;
      part.block_begin = block;
      part.block_end = block + 1;
      choice_.kernels->cut(part);
    };
    executor.run(blocks, task);
  }
}

std::int64_t TileProducts::packed_bytes() const {
  std::int64_t bytes = 0;
  for (const AlignedBuffer& parts : parts_) bytes += parts.bytes();
  for (const auto& ranges : ranges_) bytes += std::ssize(ranges) * std::int64_t{sizeof(Fp16Range)};
  return bytes;
}

TileProducts::Cut TileProducts::cut(std::int64_t rows, int slots) const {
  Cut cut;
  cut.row_blocks = divide_up(rows, kTileBlock);
  cut.row_tasks = divide_up(cut.row_blocks * kTileBlock, kTaskRows);
  cut.column_tasks = divide_up(starts_.back(), task_blocks_);
  if (slots > 1) {
    const std::int64_t wanted = divide_up(kTasksPerSlot * slots, cut.row_tasks);
    cut.column_tasks = std::max(cut.column_tasks, std::min(wanted, starts_.back()));
  }
  return cut;
}

// The parts of all matrices that blocks of columns belong to.
std::int64_t TileProducts::collect_runs(std::int64_t begin, std::int64_t end,
                                        std::span<const AnyBlockedView> y, TileRun* runs) const {
  const std::int64_t panels = kTileBlock / (2 * f32_->lanes);
  std::int64_t count = 0;
  for (std::size_t m = 0; m < weights_.size(); ++m) {
    const std::int64_t first = std::max(begin, starts_[m]) - starts_[m];
    const std::int64_t last = std::min(end, starts_[m + 1]) - starts_[m];
    if (first >= last) continue;
    const PackedMatrix& matrix = weights_[m];
    runs[count++] = {run_of(matrix, first * panels, std::min(last * panels, matrix.panels()), y[m]),
                     reinterpret_cast<const Half*>(parts_[m].data()), bad_[m].data(),
                     ranges_[m].data()};
  }
  return count;
}

void TileProducts::run(const Executor& executor, const ConstAnyMatrix& x,
                       std::span<const AnyBlockedView> y, bool rounds) {
  const double seconds = expected_seconds(x.rows, weight_floats_);
  const Cut cut = this->cut(x.rows, executor.slots_for(seconds));
  const bool staged = stage_depth_ < depth_;
  const InputRows all_rows{x.data, x.dtype, rounds, x.row_stride};
  std::fill(cut_rows_.begin(), cut_rows_.end(), -1);
  auto task = [&](std::int64_t index, int slot) {
    // In one stage, neighbouring tasks share rows, which are cut for the first of them. In several,
    // they share panels, so that these are read from memory once.
    const std::int64_t row_task = staged ? index % cut.row_tasks : index / cut.column_tasks;
    const std::int64_t column_task = staged ? index / cut.row_tasks : index % cut.column_tasks;
    TileProjectTask part;
    part.first_row = tile_begin(cut.row_blocks, cut.row_tasks, row_task) * kTileBlock;
    const std::int64_t end = tile_begin(cut.row_blocks, cut.row_tasks, row_task + 1) * kTileBlock;
    part.rows = std::min(end, x.rows) - part.first_row;
    part.x = all_rows.from(part.first_row);
    part.depth = depth_;
    part.stage_depth = stage_depth_;
    TileRun* runs = runs_.data() + static_cast<std::size_t>(slot) * weights_.size();
    part.runs = runs;
    part.run_count =
        collect_runs(tile_begin(starts_.back(), cut.column_tasks, column_task),
                     tile_begin(starts_.back(), cut.column_tasks, column_task + 1), y, runs);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    part.f32 = f32_;
    part.storage = weights_.front().storage();
    std::int64_t& cut_rows = cut_rows_[static_cast<std::size_t>(slot)];
    part.rows_are_cut = !staged && cut_rows == row_task;
    cut_rows = row_task;
    choice_.kernels->project(part);
  };
  executor.run(cut.row_tasks * cut.column_tasks, task, seconds);
}

}  // namespace headroom::simd
