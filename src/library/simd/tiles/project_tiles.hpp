// Rows of x times panels of weights, by tile products of their parts.
//
// Weights are cut when the layer is made: to cut a panel as it is used took as long as half of the
// one product of 128 rows of bf16, and a fifth of their six. What few rows read stays beside them.
#pragma once

#include "simd/tiles/fp16_parts.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// A block of 32 columns in the panels of a task.
template <class B>
HEADROOM_INLINE void find_columns(const TileCutTask& task, std::int64_t block,
                                  Columns<B> (&columns)[kBlockVectors]) {
  const std::int64_t column = block * kTileBlock;
  for (int v = 0; v < kBlockVectors; ++v) {
    const std::int64_t at = column + v * kLanes;
    if (at >= task.cols) continue;
    const std::int64_t panel = at / kPanel * kPanel;
    const std::int64_t width = task.cols - panel <= kLanes ? kLanes : kPanel;
    columns[v] = {static_cast<const B*>(task.panels) + panel * task.depth + (at - panel), width};
  }
}

/// Cuts a block of 32 columns. @return whether parts cannot carry one of its weights
template <class S, class B>
HEADROOM_INLINE bool cut_block(const TileCutTask& task, std::int64_t block) {
  Columns<B> columns[kBlockVectors];
  find_columns<B>(task, block, columns);
  Sizes sizes[kBlockVectors];
  cut_columns<S>(columns, task.depth, whole(task.depth, kTileDepth) / kTileDepth, nullptr,
                 task.parts + block * cut_block_halves(S::kRight, task.depth), sizes);
  bool small = false;
  for (const Sizes& each : sizes) small = small || has_small(each.least);
  return small;
}

template <Precision P>
void cut_weights(const TileCutTask& task) {
  for (std::int64_t block = task.block_begin; block < task.block_end; ++block) {
    task.bad[block] = task.dtype == Dtype::f32 ? cut_block<SchemeOf<P, float>, float>(task, block)
                                               : cut_block<SchemeOf<P, Half>, Half>(task, block);
  }
}

/// The same of fp16 parts, each stage scaled for itself.
template <class S, class B>
HEADROOM_INLINE void cut_fp16_block(const TileCutTask& task, std::int64_t block) {
  Columns<B> columns[kBlockVectors];
  find_columns<B>(task, block, columns);
  Half* out = task.parts + block * cut_block_halves(S::kRight, task.depth);
  Fp16Range* range = task.ranges + block * stage_count(task.depth, task.stage_depth);
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    const std::int64_t rest = task.depth - k;
    const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
    const std::int64_t steps = whole(depth, kTileDepth) / kTileDepth;
    *range++ = cut_fp16_columns<S, B>(columns, depth, steps, out);
    out += steps * S::kRight * kRightStep;
    for (Columns<B>& each : columns) {
      if (each.first != nullptr) each.first += depth * each.stride;
    }
  }
}

template <Precision P>
void cut_fp16_weights(const TileCutTask& task) {
  for (std::int64_t block = task.block_begin; block < task.block_end; ++block) {
    if (task.dtype == Dtype::f32) {
      cut_fp16_block<SchemeOf<P, float>, float>(task, block);
    } else {
      cut_fp16_block<SchemeOf<P, Half>, Half>(task, block);
    }
    task.bad[block] = 0;  // the factors of its sums say it
  }
}

/// The scratch memory of a task, laid out.
struct ProjectMemory {
  std::uint16_t* left;
  float* sums;
  float* partials;
  unsigned char* bad_rows;
  Fp16Rows* ranges;  ///< of each 32 rows, in this stage
  float* f32;
};

template <Precision P>
HEADROOM_INLINE ProjectMemory memory_of(const TileProjectTask& task, std::int64_t blocks) {
  const TileProjectScratch at =
      tile_project_scratch(P, task.rows, task.stage_depth, task.stage_depth < task.depth, blocks,
                           task.depth, task.f32->tile_rows, task.f32->lanes);
  ProjectMemory memory;
  memory.left = reinterpret_cast<std::uint16_t*>(task.scratch);
  memory.sums = task.scratch + at.sums;
  memory.partials = task.scratch + at.partials;
  memory.bad_rows = reinterpret_cast<unsigned char*>(task.scratch + at.flags);
  memory.ranges = reinterpret_cast<Fp16Rows*>(task.scratch + at.ranges);
  memory.f32 = task.scratch + at.f32;
  return memory;
}

/// Part of the depth.
struct TileStage {
  std::int64_t begin = 0;
  std::int64_t depth = 0;
  std::int64_t steps = 0;
  bool first = true, last = true;
};

template <Precision P>
HEADROOM_INLINE void cut_task_rows(const TileProjectTask& task, const TileStage& stage,
                                   const ProjectMemory& memory) {
  for (std::int64_t r = 0; r < whole(task.rows, kTileBlock); ++r) {
    std::uint16_t* out = memory.left + r / kTileBlock * stage.steps * Parts<P>::kCount * kLeftStep;
    const float* from = r < task.rows ? task.x + r * task.x_stride + stage.begin : nullptr;
    if constexpr (kOfFp16<P>) {
      keep_range(cut_fp16_row(from, stage.depth, stage.steps, r % kTileBlock, out),
                 memory.ranges[r / kTileBlock], r % kTileBlock);
      memory.bad_rows[r] = 0;  // the factors of its sums say it
    } else {
      const bool small =
          has_small(cut_row<P>(from, stage.depth, stage.steps, r % kTileBlock, out).least);
      memory.bad_rows[r] = (!stage.first && memory.bad_rows[r] != 0) || small;
    }
  }
}

/// Lanes that may be wrong because parts overflowed or vanished: infinities, NaN, and what is so
/// small that its smaller products were taken for zero.
HEADROOM_INLINE Bits doubtful_lanes(const Bits& bits) {
  constexpr std::uint32_t kLeast = (127U - 100U) << 23;
  const Bits size = bits & kMagnitude;
  return static_cast<Bits>((size - kLeast) >= (kInfinityBits - kLeast)) &
         static_cast<Bits>(size != 0U);
}

/// Some rows over the panels of a block, by the f32 kernels.
HEADROOM_INLINE void project_exactly(const TileProjectTask& task, const PanelRun& run,
                                     std::int64_t block, std::int64_t row, float* scratch) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  PanelRun panels = run;
  panels.panel_begin = block * kPanels;
  const std::int64_t end = panels.panel_begin + kPanels;
  panels.panel_end = end < run.panel_end ? end : run.panel_end;
  panels.y += (task.first_row + row) * run.y_stride;
  ProjectTask exact;
  exact.x = task.x + row * task.x_stride;
  exact.x_stride = task.x_stride;
  exact.rows = exact.tiles = exact.tile_end = 1;
  exact.depth = task.depth;
  exact.stage_depth = whole(task.depth, kChunk);
  exact.runs = &panels;
  exact.run_count = 1;
  exact.scratch = scratch;
  task.f32->stored(task.dtype).project(exact);
}

/// Where 32 columns of a row go. Heads may end anywhere among them.
HEADROOM_INLINE void scatter_row(const PanelRun& run, std::int64_t column, const float* from,
                                 float* y_row) {
  const std::int64_t end = column + kTileBlock < run.cols ? column + kTileBlock : run.cols;
  for (std::int64_t c = column; c < end; ++c) {
    const std::int64_t block = c / run.block_cols;
    y_row[block * run.block_stride + c - block * run.block_cols] = from[c - column];
  }
}

/// Two by two tiles of sums and where they belong.
struct TileSums {
  const float* sums = nullptr;
  std::int64_t block = 0, row = 0;
  float* partials = nullptr;
  bool bad_block = false;
  const float* factors = nullptr;  ///< of each row, if parts are scaled
};

/// A row's sums, and what earlier stages left or the bias.
/// @tparam kScaled whether the sums are those of scaled parts. A factor is a power of two, so the
///         product is exact, or so small that f32 computes it again; or NaN, which stays.
template <bool kScaled>
HEADROOM_INLINE void total_row(const PanelRun& run, const TileStage& stage, const TileSums& of,
                               std::int64_t r, Vec (&total)[kBlockVectors]) {
  const std::int64_t column = of.block * kTileBlock;
  const float* before = stage.first ? (run.bias == nullptr ? nullptr : run.bias + column)
                                    : of.partials + r * kTileBlock;
#pragma GCC unroll 8
  for (int v = 0; v < kBlockVectors; ++v) {
    const int column_tile = v * kLanes / static_cast<int>(kTileSide);
    total[v] = load(of.sums + (r / kTileSide * 2 + column_tile) * kSums +
                    r % kTileSide * kTileSide + v * kLanes % kTileSide);
    if constexpr (kScaled) total[v] = total[v] * Vec(of.factors[r]);
    if (before != nullptr && (!stage.first || column + v * kLanes < run.cols)) {
      total[v] += load(before + v * kLanes);
    }
  }
}

/// The rows of a block that f32 has to do.
template <bool kScaled>
[[gnu::noinline]] void finish_exactly(const TileProjectTask& task, const PanelRun& run,
                                      const TileStage& stage, const TileSums& of, std::int64_t rows,
                                      const ProjectMemory& memory) {
  for (std::int64_t r = 0; r < rows; ++r) {
    Vec total[kBlockVectors];
    total_row<kScaled>(run, stage, of, r, total);
    Bits doubtful{};
    for (const Vec& v : total) doubtful |= doubtful_lanes(bits_of(v));
    if (any_lane(doubtful) || of.bad_block || memory.bad_rows[of.row + r] != 0) {
      project_exactly(task, run, of.block, of.row + r, memory.f32);
    }
  }
}

/// What follows the products of two by two tiles, between those of the next ones: their sums are
/// added to what earlier stages left, and handed on or written, and weights are prefetched.
///
/// @tparam kRows whether rows are written between products, or all after them: with several
/// products
///         their checks cost more than they hide
/// @tparam kScaled see total_row
/// @tparam kFar whether operands come from beyond the L1, and are worth a prefetch
template <bool kRows, bool kScaled, bool kFar>
class BlockEnd {
 public:
  static constexpr bool kAhead = kFar;

  /// @param calls of `next` for each block
  /// @param lines to prefetch in a call
  HEADROOM_INLINE BlockEnd(const TileProjectTask& task, const TileStage& stage,
                           const ProjectMemory& memory, std::int64_t calls, std::int64_t lines)
      : task_(&task),
        stage_(&stage),
        memory_(&memory),
        rows_a_call_((kTileBlock + calls - 1) / calls),
        lines_(lines) {}

  /// Before a block of columns.
  /// @param parts of weights to prefetch, those of the next block
  HEADROOM_INLINE void begin(const PanelRun& run, std::int64_t block, const std::uint16_t* parts) {
    ask_ = parts;
    const std::int64_t column = block * kTileBlock;
    const std::int64_t head = column / run.block_cols;
    const std::int64_t inside = column - head * run.block_cols;
    next_together_ = inside + kTileBlock <= run.block_cols && column + kTileBlock <= run.cols;
    next_place_ = head * run.block_stride + inside;
  }

  HEADROOM_INLINE void start(const PanelRun& run, const TileSums& of) {
    run_ = &run;
    of_ = of;
    const std::int64_t rest = task_->rows - of.row;
    rows_ = rest < kTileBlock ? rest : kTileBlock;
    y_row_ = run.y + (task_->first_row + of.row) * run.y_stride;
    together_ = next_together_;
    to_ = stage_->last ? y_row_ + next_place_ : of.partials;
    stride_ = stage_->last ? run.y_stride : kTileBlock;
    row_ = 0;
    doubtful_ = Bits{};
    bad_ = of.bad_block;
  }

  HEADROOM_INLINE void next() {
    for (std::int64_t l = 0; l < lines_; ++l) __builtin_prefetch(ask_ + l * 32, 0, 2);
    ask_ += lines_ * 32;
    if (!kRows || !together_) return;
    for (std::int64_t i = 0; i < rows_a_call_ && row_ < rows_; ++i) write_row();
  }

  HEADROOM_INLINE void finish() {
    if (together_) {
      while (row_ < rows_) write_row();
    } else {
      while (row_ < rows_) scatter();
    }
    if (stage_->last && (bad_ || has_bad_rows() || any_lane(doubtful_))) [[unlikely]] {
      finish_exactly<kScaled>(*task_, *run_, *stage_, of_, rows_, *memory_);
    }
    rows_ = 0;
  }

 private:
  HEADROOM_INLINE bool has_bad_rows() const {
    std::uint64_t flags[kTileBlock / 8];
    __builtin_memcpy(flags, memory_->bad_rows + of_.row, sizeof(flags));
    std::uint64_t any = 0;
    for (const std::uint64_t each : flags) any |= each;
    return any != 0;
  }

  HEADROOM_INLINE void write_row() {
    Vec total[kBlockVectors];
    total_row<kScaled>(*run_, *stage_, of_, row_, total);
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) {
      doubtful_ |= doubtful_lanes(bits_of(total[v]));
      store(to_ + row_ * stride_ + v * kLanes, total[v]);
    }
    ++row_;
  }

  void scatter() {
    alignas(64) float apart[kTileBlock];
    Vec total[kBlockVectors];
    total_row<kScaled>(*run_, *stage_, of_, row_, total);
    for (int v = 0; v < kBlockVectors; ++v) {
      doubtful_ |= doubtful_lanes(bits_of(total[v]));
      store((stage_->last ? apart : to_ + row_ * stride_) + v * kLanes, total[v]);
    }
    if (stage_->last) {
      scatter_row(*run_, of_.block * kTileBlock, apart, y_row_ + row_ * run_->y_stride);
    }
    ++row_;
  }

  const TileProjectTask* task_;
  const TileStage* stage_;
  const ProjectMemory* memory_;
  const PanelRun* run_ = nullptr;
  std::int64_t rows_a_call_;
  std::int64_t lines_;
  const std::uint16_t* ask_ = nullptr;
  TileSums of_;
  std::int64_t rows_ = 0, row_ = 0;
  float* y_row_ = nullptr;
  float* to_ = nullptr;
  std::int64_t stride_ = 0;
  bool together_ = false, bad_ = false;
  bool next_together_ = false;
  std::int64_t next_place_ = 0;
  Bits doubtful_{};
};

HEADROOM_INLINE const Fp16Range& stage_range(const TileRun& run, const TileProjectTask& task,
                                             const TileStage& stage, std::int64_t block) {
  return run
      .ranges[block * stage_count(task.depth, task.stage_depth) + stage.begin / task.stage_depth];
}

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
    const std::int64_t block_halves = cut_block_halves(S::kRight, task_->depth);
    const std::uint16_t* b =
        run.parts + block * block_halves + stage_->begin / kTileDepth * S::kRight * kRightStep;
    end_.begin(run.panels, block, b + block_halves);
    const std::int64_t first_buffer = buffer_;
    for (std::int64_t step = 0; step < stage_->steps; step += piece_) {
      buffer_ = first_buffer;
      piece(run, block, step, b + step * S::kRight * kRightStep);
    }
    ++index_;
  }

  HEADROOM_INLINE void finish() { end_.finish(); }

 private:
  static constexpr std::int64_t kHeld = Unit::template held_steps<S>();
  static constexpr bool kScaled = kOfFp16<S::kPrecision>;

  HEADROOM_INLINE std::int64_t lines_a_call() const {
    constexpr std::int64_t kLines = S::kRight * kRightStep / 32;  // of a step
    const std::int64_t calls = S::kProducts * rows_ / kTileBlock;
    return (kLines + calls - 1) / calls;
  }

  /// All rows over some steps from `step` on.
  HEADROOM_INLINE void piece(const TileRun& run, std::int64_t block, std::int64_t step,
                             const std::uint16_t* b) {
    const bool last = step + piece_ >= stage_->steps;
    Operands of;
    of.b = b;
    of.steps = last ? stage_->steps - step : piece_;
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
      of.next_b = last_row ? b + of.steps * S::kRight * kRightStep : b;
      Unit::template multiply<S>(of, end_);
      if (last) hand_on(run, block, row, sums);
    }
  }

  HEADROOM_INLINE void hand_on(const TileRun& run, std::int64_t block, std::int64_t row,
                               const float* sums) {
    end_.finish();
    if constexpr (kScaled) {
      fp16_factors(memory_->ranges[row / kTileBlock], stage_range(run, *task_, *stage_, block),
                   stage_->depth, factors_[turn_]);
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
    if (task.dtype == Dtype::f32) {
      project_stage<SchemeOf<P, float>, Unit>(task, stage, memory);
    } else {
      project_stage<SchemeOf<P, Half>, Unit>(task, stage, memory);
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
