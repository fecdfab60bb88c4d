// Rows of x times panels of weights, by tile products of their parts.
//
// Weights stay in f32, in the panels that few rows read anyway: cutting a panel as it is used costs
// a tenth of the six products of 256 rows, and reads 4 bytes a weight where three parts are 6.
#pragma once

#include "simd/tiles/cut.hpp"
#include "simd/tiles/operands.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The scratch memory of a task, laid out.
template <Precision P>
struct ProjectMemory {
  std::uint16_t* left[kMostParts];
  std::uint16_t* right[kMostParts];
  float* sums;
  float* partials;
  unsigned char* bad_rows;
  unsigned char* bad_blocks;
  float* f32;
};

template <Precision P>
HEADROOM_INLINE ProjectMemory<P> memory_of(const TileProjectTask& task, std::int64_t blocks) {
  const TileProjectScratch at =
      tile_project_scratch(P, task.rows, task.stage_depth, task.stage_depth < task.depth, blocks,
                           task.depth, task.f32->tile_rows, task.f32->lanes);
  ProjectMemory<P> memory;
  auto* left = reinterpret_cast<std::uint16_t*>(task.scratch);
  auto* right = reinterpret_cast<std::uint16_t*>(task.scratch + at.right);
  for (int p = 0; p < Parts<P>::kCount; ++p) {
    memory.left[p] = left + p * whole(task.rows, kTileBlock) * task.stage_depth;
    memory.right[p] = right + p * task.stage_depth * kTileBlock;
  }
  memory.sums = task.scratch + at.sums;
  memory.partials = task.scratch + at.partials;
  memory.bad_rows = reinterpret_cast<unsigned char*>(task.scratch + at.flags);
  memory.bad_blocks = memory.bad_rows + whole(task.rows, kTileBlock);
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
                                   const ProjectMemory<P>& memory) {
  for (std::int64_t row = 0; row < whole(task.rows, kTileSide); row += kTileSide) {
    std::uint16_t* out[kMostParts];
    for (int p = 0; p < Parts<P>::kCount; ++p) {
      out[p] = memory.left[p] + row * stage.steps * kTileDepth;
    }
    for (std::int64_t r = row; r < row + kTileSide; ++r) {
      const float* from = r < task.rows ? task.x + r * task.x_stride + stage.begin : nullptr;
      const bool small = has_small(cut_row<P>(from, stage.depth, stage.steps, r - row, out).least);
      memory.bad_rows[r] = (!stage.first && memory.bad_rows[r] != 0) || small;
    }
  }
}

/// Cuts a stage of 32 columns from `column` on. @return whether parts cannot carry one of them
template <Precision P, class B>
HEADROOM_INLINE bool cut_panel(const TileProjectTask& task, const PanelRun& run,
                               const TileStage& stage, std::int64_t column,
                               const ProjectMemory<P>& memory) {
  Columns<B> columns[kBlockVectors];
  for (int v = 0; v < kBlockVectors; ++v) {
    const std::int64_t at = column + v * kLanes;
    if (at >= run.cols) continue;
    const std::int64_t panel = at / kPanel * kPanel;
    const std::int64_t width = run.cols - panel <= kLanes ? kLanes : kPanel;
    columns[v] = {
        static_cast<const B*>(run.panels) + panel * task.depth + stage.begin * width + (at - panel),
        width};
  }
  Sizes sizes[kBlockVectors];
  cut_columns<P>(columns, stage.depth, stage.steps, nullptr, memory.right, sizes);
  bool small = false;
  for (const Sizes& each : sizes) small = small || has_small(each.least);
  return small;
}

/// Whether a result may be wrong because parts overflowed or vanished: infinities, NaN, and what is
/// so small that its smaller products were taken for zero.
HEADROOM_INLINE bool is_doubtful(const Bits& bits) {
  constexpr std::uint32_t kLeast = (127U - 100U) << 23;
  const Bits size = bits & kMagnitude;
  const Bits doubtful = static_cast<Bits>((size - kLeast) >= (kInfinityBits - kLeast)) &
                        static_cast<Bits>(size != 0U);
  return any_lane(doubtful);
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

/// Adds the sums of two by two tiles to what earlier stages left, and hands on or writes the rows.
template <Precision P>
HEADROOM_INLINE void finish_block(const TileProjectTask& task, const PanelRun& run,
                                  const TileStage& stage, std::int64_t block, std::int64_t row,
                                  float* partials, bool bad_block, const ProjectMemory<P>& memory) {
  const std::int64_t column = block * kTileBlock;
  const std::int64_t head = column / run.block_cols;
  const std::int64_t inside = column - head * run.block_cols;
  const bool together = inside + kTileBlock <= run.block_cols && column + kTileBlock <= run.cols;
  const std::int64_t rows = task.rows - row < kTileBlock ? task.rows - row : kTileBlock;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* y_row = run.y + (task.first_row + row + r) * run.y_stride;
    float* y = y_row + head * run.block_stride + inside;
    Vec total[kBlockVectors];
    bool doubtful = false;
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) {
      const int column_tile = v * kLanes / static_cast<int>(kTileSide);
      const float* sums = memory.sums + (r / kTileSide * 2 + column_tile) * kSums +
                          r % kTileSide * kTileSide + v * kLanes % kTileSide;
      const float* before = stage.first ? (run.bias == nullptr ? nullptr : run.bias + column)
                                        : partials + r * kTileBlock;
      total[v] = load(sums);
      if (before != nullptr && (!stage.first || column + v * kLanes < run.cols)) {
        total[v] += load(before + v * kLanes);
      }
      if (stage.last) doubtful = doubtful || is_doubtful(bits_of(total[v]));
    }
    float* to = stage.last && together ? y : partials + r * kTileBlock;
    alignas(64) float apart[kTileBlock];
    if (stage.last && !together) to = apart;
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) store(to + v * kLanes, total[v]);
    if (!stage.last) continue;
    if (!together) scatter_row(run, column, apart, y_row);
    if (doubtful || bad_block || memory.bad_rows[row + r] != 0) {
      project_exactly(task, run, block, row + r, memory.f32);
    }
  }
}

template <Precision P, class Unit>
HEADROOM_INLINE void project_stage(const TileProjectTask& task, const TileStage& stage,
                                   const ProjectMemory<P>& memory) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  cut_task_rows<P>(task, stage, memory);
  const std::int64_t rows = whole(task.rows, kTileBlock);
  std::int64_t index = 0;
  for (std::int64_t n = 0; n < task.run_count; ++n) {
    const PanelRun& run = task.runs[n];
    const std::int64_t end = (run.panel_end + kPanels - 1) / kPanels;
    for (std::int64_t block = run.panel_begin / kPanels; block < end; ++block, ++index) {
      const std::int64_t column = block * kTileBlock;
      const bool bad = task.dtype == Dtype::f32
                           ? cut_panel<P, float>(task, run, stage, column, memory)
                           : cut_panel<P, Half>(task, run, stage, column, memory);
      memory.bad_blocks[index] = (!stage.first && memory.bad_blocks[index] != 0) || bad;
      for (std::int64_t row = 0; row < rows; row += kTileBlock) {
        Operands of;
        for (int p = 0; p < Parts<P>::kCount; ++p) {
          of.a[p] = memory.left[p] + row * stage.steps * kTileDepth;
          of.b[p] = memory.right[p];
        }
        of.a_lower = stage.steps * kLeftTile;
        of.steps = stage.steps;
        of.rows = task.rows - row < kTileBlock ? task.rows - row : kTileBlock;
        for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = memory.sums + i * kSums;
        Unit::template multiply<P>(of);
        finish_block<P>(task, run, stage, block, row,
                        memory.partials + (index * rows + row) * kTileBlock,
                        memory.bad_blocks[index] != 0, memory);
      }
    }
  }
}

template <Precision P, class Unit>
void project_tiles(const TileProjectTask& task) {
  constexpr std::int64_t kPanels = kTileBlock / kPanel;
  std::int64_t blocks = 0;
  for (std::int64_t n = 0; n < task.run_count; ++n) {
    blocks += (task.runs[n].panel_end + kPanels - 1) / kPanels - task.runs[n].panel_begin / kPanels;
  }
  const ProjectMemory<P> memory = memory_of<P>(task, blocks);
  [[maybe_unused]] const typename Unit::Session session;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    const std::int64_t rest = task.depth - k;
    const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
    project_stage<P, Unit>(
        task, {k, depth, (depth + kTileDepth - 1) / kTileDepth, k == 0, k + depth == task.depth},
        memory);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
