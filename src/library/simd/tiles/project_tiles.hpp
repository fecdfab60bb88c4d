// Rows of x times panels of weights, by tile products of their parts.
#pragma once

#include "simd/tiles/project_groups.hpp"
#include "simd/tiles/project_sums.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The rows of a task over blocks of columns, one stage of the depth.
///
/// Where a unit says so, the stage is walked in short pieces: their part of the weights stays in
/// the L1 while all rows pass, and sums wait in the L2 for the next piece.
template <class S, class Unit>
class StageProducts {
 public:
  HEADROOM_INLINE StageProducts(const TileProjectTask& task, const TileStage& stage,
                                const ProjectMemory& memory)
      : task_(&task),
        stage_(&stage),
        memory_(&memory),
        rows_(whole(task.rows, kTileBlock)),
        piece_(kHeld > 0 && kHeld < stage.steps ? kHeld : stage.steps),
        buffers_(piece_ < stage.steps ? rows_ / kTileBlock + 1 : 2),
        end_(task, stage, memory, S::kProducts * piece_, lines_a_call()) {}

  HEADROOM_INLINE void block(const TileRun& run, std::int64_t block) {
    end_.begin(run.panels, block, weights_of(run, block + 1));
    const std::int64_t first_buffer = buffer_;
    for (std::int64_t step = 0; step < stage_->steps; step += piece_) {
      buffer_ = first_buffer;
      piece(run, block, step);
    }
    ++index_;
  }

  HEADROOM_INLINE void finish() { end_.finish(); }

 private:
  static constexpr std::int64_t kHeld = Unit::template held_steps<S>();
  static constexpr bool kScaled = kOfFp16<S::kPrecision>;

  HEADROOM_INLINE std::int64_t lines_a_call() const {
    const std::int64_t bytes = is_few_bits(task_->storage)
                                   ? storage_bytes(task_->storage, kTileDepth * kTileBlock)
                                   : S::kRight * kRightStep * std::int64_t{sizeof(Half)};
    const std::int64_t lines = bytes / 64;  // of a step
    const std::int64_t calls = S::kProducts * rows_ / kTileBlock;
    return (lines + calls - 1) / calls;
  }

  /// A block in this stage: its parts, or what they are cut from.
  HEADROOM_INLINE const void* weights_of(const TileRun& run, std::int64_t block) const {
    if (!is_few_bits(task_->storage)) {
      return run.parts + block * cut_block_halves(S::kRight, task_->depth) +
             stage_->begin / kTileDepth * S::kRight * kRightStep;
    }
    const std::int64_t weights =
        block * kTileBlock * whole(task_->depth, kGroup) + stage_->begin * kPanel;
    return static_cast<const char*>(run.panels.panels) + storage_bytes(task_->storage, weights);
  }

  /// Some steps of a block as parts, and what is to be known of their range.
  HEADROOM_INLINE const std::uint16_t* cut_parts(const TileRun& run, const BlockSteps& steps) {
    if (!is_few_bits(task_->storage)) {
      if constexpr (kScaled) {
        range_ = run.ranges[steps.block * stage_count(task_->depth, task_->stage_depth) +
                            stage_->begin / task_->stage_depth];
      }
      return static_cast<const std::uint16_t*>(weights_of(run, steps.block)) +
             steps.first * S::kRight * kRightStep;
    }
    const auto cut = task_->storage == Storage::q8 ? cut_groups<S, Q8> : cut_groups<S, Q4>;
    range_ = cut(*task_, *stage_, *memory_, run.panels, steps);
    return memory_->right;
  }

  /// All rows over some steps from `step` on.
  HEADROOM_INLINE void piece(const TileRun& run, std::int64_t block, std::int64_t step) {
    const bool last = step + piece_ >= stage_->steps;
    Operands of;
    of.steps = last ? stage_->steps - step : piece_;
    of.b = cut_parts(run, {block, step, of.steps});
    of.add = step > 0;
    for (std::int64_t row = 0; row < rows_; row += kTileBlock) {
      float* sums = memory_->sums + buffer_ * 4 * kSums;
      buffer_ = buffer_ + 1 < buffers_ ? buffer_ + 1 : 0;
      for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = sums + i * kSums;
      of.a = memory_->left + (row / kTileBlock * stage_->steps + step) * S::kLeft * kLeftStep;
      of.rows = task_->rows - row < kTileBlock ? task_->rows - row : kTileBlock;
      const bool last_row = row + kTileBlock >= rows_;
      of.next_a = last_row ? memory_->left + (last ? 0 : step + piece_) * S::kLeft * kLeftStep
                           : of.a + stage_->steps * S::kLeft * kLeftStep;
      of.next_b = last_row ? of.b + of.steps * S::kRight * kRightStep : of.b;
      Unit::template multiply<S>(of, end_);
      if (last) hand_on(run, block, row, sums);
    }
  }

  HEADROOM_INLINE void hand_on(const TileRun& run, std::int64_t block, std::int64_t row,
                               const float* sums) {
    end_.finish();
    if constexpr (kScaled) {
      fp16_factors(memory_->ranges[row / kTileBlock], range_, stage_->depth, factors_[turn_]);
    }
    end_.start(run.panels,
               {sums, block, row, memory_->partials + (index_ * rows_ + row) * kTileBlock,
                run.bad[block] != 0, factors_[turn_]});
    turn_ = 1 - turn_;
  }

  const TileProjectTask* task_;
  const TileStage* stage_;
  const ProjectMemory* memory_;
  std::int64_t rows_;
  std::int64_t piece_;    ///< steps
  std::int64_t buffers_;  ///< of sums: those of all rows, and of those that are still written
  std::int64_t buffer_ = 0;
  std::int64_t index_ = 0;  ///< of the block among all of the task
  int turn_ = 0;
  Fp16Range range_;  ///< of the block, if parts are scaled
  alignas(64) float factors_[2][kTileBlock];
  BlockEnd<S::kProducts == 1, kScaled, kHeld == 0> end_;
};

template <class S, class Unit>
HEADROOM_INLINE void project_stage(const TileProjectTask& task, const TileStage& stage,
                                   const ProjectMemory& memory) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  if (!task.rows_are_cut) cut_task_rows<S::kPrecision>(task, stage, memory);
  StageProducts<S, Unit> products(task, stage, memory);
  for (std::int64_t n = 0; n < task.run_count; ++n) {
    const TileRun& run = task.runs[n];
    const std::int64_t blocks = (run.panels.panel_end + kPanels - 1) / kPanels;
    for (std::int64_t block = run.panels.panel_begin / kPanels; block < blocks; ++block) {
      products.block(run, block);
    }
  }
  products.finish();
}

template <Precision P, class Unit>
void project_tiles(const TileProjectTask& task) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  std::int64_t blocks = 0;
  for (std::int64_t n = 0; n < task.run_count; ++n) {
    const PanelRun& run = task.runs[n].panels;
    blocks += (run.panel_end + kPanels - 1) / kPanels - run.panel_begin / kPanels;
  }
  const ProjectMemory memory = memory_of<P>(task, blocks);
  [[maybe_unused]] const typename Unit::Session session;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    const std::int64_t rest = task.depth - k;
    const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
    const TileStage stage{k, depth, (depth + kTileDepth - 1) / kTileDepth, k == 0,
                          k + depth == task.depth};
    if (task.storage == Storage::bf16) {
      project_stage<SchemeOf<P, Half>, Unit>(task, stage, memory);
    } else {
      project_stage<SchemeOf<P, float>, Unit>(task, stage, memory);
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
