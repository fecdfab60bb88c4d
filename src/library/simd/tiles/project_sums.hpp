// What becomes of the sums of products by tiles: they are added to those of earlier stages,
// checked, and written; what parts may have spoiled is computed by f32.
#pragma once

#include "simd/tiles/project_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Lanes that may be wrong because parts overflowed or vanished: infinities, NaN, and what is so
/// small that its smaller products were taken for zero.
HEADROOM_INLINE Bits doubtful_lanes(const Bits& bits) {
  constexpr std::uint32_t kLeast = (127U - 100U) << 23;
  const Bits size = bits & kMagnitude;
  return static_cast<Bits>((size - kLeast) >= (kInfinityBits - kLeast)) &
         static_cast<Bits>(size != 0U);
}

/// Where a value of y lies.
HEADROOM_INLINE void* y_value(const PanelRun& run, std::int64_t index) {
  return static_cast<char*>(run.y) + index * value_bytes(run.y_dtype);
}

/// Some rows over the panels of a block, by the f32 kernels.
HEADROOM_INLINE void project_exactly(const TileProjectTask& task, const PanelRun& run,
                                     std::int64_t block, std::int64_t row, float* scratch) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  PanelRun panels = run;
  panels.panel_begin = block * kPanels;
  const std::int64_t end = panels.panel_begin + kPanels;
  panels.panel_end = end < run.panel_end ? end : run.panel_end;
  panels.y = y_value(run, (task.first_row + row) * run.y_stride);
  ProjectTask exact;
  exact.x = task.x.from(row);
  exact.rows = exact.tiles = exact.tile_end = 1;
  exact.depth = task.depth;
  exact.stage_depth = whole(task.depth, kChunk);
  exact.runs = &panels;
  exact.run_count = 1;
  exact.scratch = scratch;
  if (is_few_bits(task.storage)) {
    task.f32->few_rows->of(task.storage)(exact);
  } else {
    task.f32->stored(dtype_of(task.storage)).project(exact);
  }
}

/// Where 32 columns of row `row` of y go. Heads may end anywhere among them.
HEADROOM_INLINE void scatter_row(const PanelRun& run, std::int64_t column, const float* from,
                                 std::int64_t row) {
  const std::int64_t end = column + kTileBlock < run.cols ? column + kTileBlock : run.cols;
  for (std::int64_t c = column; c < end; ++c) {
    const std::int64_t block = c / run.block_cols;
    void* to =
        y_value(run, row * run.y_stride + block * run.block_stride + c - block * run.block_cols);
    if (run.y_dtype == Dtype::f32) {
      *static_cast<float*>(to) = from[c - column];
    } else {
      store_one(static_cast<Half*>(to), from[c - column]);
    }
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
///         products their checks cost more than they hide
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
  /// @param weights to prefetch, those of the next block
  HEADROOM_INLINE void begin(const PanelRun& run, std::int64_t block, const void* weights) {
    ask_ = static_cast<const char*>(weights);
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
    y_row_ = task_->first_row + of.row;
    together_ = next_together_;
    to_ = stage_->last ? y_value(run, y_row_ * run.y_stride + next_place_) : of.partials;
    stride_ = stage_->last ? run.y_stride : kTileBlock;
    halves_ = stage_->last && run.y_dtype != Dtype::f32;
    row_ = 0;
    doubtful_ = Bits{};
    bad_ = of.bad_block;
  }

  HEADROOM_INLINE void next() {
    for (std::int64_t l = 0; l < lines_; ++l) __builtin_prefetch(ask_ + l * 64, 0, 2);
    ask_ += lines_ * 64;
    if (!kRows || !together_) return;
    for (std::int64_t i = 0; i < rows_a_call_ && row_ < rows_; ++i) write_row();
  }

  HEADROOM_INLINE void finish() {
    if (rows_ == 0) return;
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

  template <class Y>
  HEADROOM_INLINE void write_row_to(Y* to) {
    Vec total[kBlockVectors];
    total_row<kScaled>(*run_, *stage_, of_, row_, total);
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) {
      doubtful_ |= doubtful_lanes(bits_of(total[v]));
      store(to + row_ * stride_ + v * kLanes, total[v]);
    }
    ++row_;
  }

  HEADROOM_INLINE void write_row() {
    if (halves_) {
      write_row_to(static_cast<Half*>(to_));
    } else {
      write_row_to(static_cast<float*>(to_));
    }
  }

  void scatter() {
    alignas(64) float apart[kTileBlock];
    Vec total[kBlockVectors];
    total_row<kScaled>(*run_, *stage_, of_, row_, total);
    for (int v = 0; v < kBlockVectors; ++v) {
      doubtful_ |= doubtful_lanes(bits_of(total[v]));
      float* to = stage_->last ? apart : static_cast<float*>(to_) + row_ * stride_;
      store(to + v * kLanes, total[v]);
    }
    if (stage_->last) {
      scatter_row(*run_, of_.block * kTileBlock, apart, y_row_ + row_);
    }
    ++row_;
  }

  const TileProjectTask* task_;
  const TileStage* stage_;
  const ProjectMemory* memory_;
  const PanelRun* run_ = nullptr;
  std::int64_t rows_a_call_;
  std::int64_t lines_;
  const char* ask_ = nullptr;
  TileSums of_;
  std::int64_t rows_ = 0, row_ = 0;
  std::int64_t y_row_ = 0;
  void* to_ = nullptr;
  std::int64_t stride_ = 0;
  bool halves_ = false;  ///< y's
  bool together_ = false, bad_ = false;
  bool next_together_ = false;
  std::int64_t next_place_ = 0;
  Bits doubtful_{};
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
