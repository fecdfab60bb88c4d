// A block of the projection: row tiles times weight panels, the depth in stages.
#pragma once

#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Width in vectors of the widest tile for few rows: no more accumulators than a full tile has, but
/// enough independent chains to hide the latency of a multiply-add.
template <int MR>
inline constexpr int kWideVectors = MR * 8 <= 2 * kTileRows   ? 8
                                    : MR * 4 <= 2 * kTileRows ? 4
                                                              : 2;

/// Where one tile starts, continues and ends.
struct TileCall {
  const float* a;
  const float* b;
  std::int64_t panel_stride;
  std::int64_t depth;
  const float* bias;    ///< of the tile's first column, or null
  float* partial;       ///< this tile's sums between stages
  bool first, last;     ///< stage of the depth
  std::int64_t row;     ///< first row in y
  std::int64_t column;  ///< first column in the whole matrix
};

/// Where the vectors of a tile go.
template <int NV>
struct Destination {
  float* y[NV];  ///< of the tile's first row
  /// No vector crosses the end of a head. Each starts inside the matrix, which ends with a head, so
  /// that one which crosses the matrix's end crosses a head's.
  bool whole;
};

template <int NV>
HEADROOM_INLINE Destination<NV> find_destination(const ProjectTask& task, const TileCall& call) {
  Destination<NV> to;
  to.whole = true;
  std::int64_t block = call.column / task.block_cols;  // one division per tile, because it is slow
  std::int64_t inside = call.column - block * task.block_cols;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    to.y[v] = task.y + call.row * task.y_stride + block * task.block_stride + inside;
    to.whole = to.whole && inside + kLanes <= task.block_cols;
    inside += kLanes;
    while (inside >= task.block_cols) {
      inside -= task.block_cols;
      ++block;
    }
  }
  return to;
}

/// Copies finished rows from the tile's partial sums, each as runs that end where a head ends.
template <int NV>
[[gnu::noinline]] void scatter_tile(const ProjectTask& task, const TileCall& call, int rows) {
  const std::int64_t end =
      call.column + NV * kLanes < task.cols ? call.column + NV * kLanes : task.cols;
  for (std::int64_t column = call.column; column < end;) {
    const std::int64_t block = column / task.block_cols;
    const std::int64_t block_end = (block + 1) * task.block_cols;
    const std::int64_t run_end = block_end < end ? block_end : end;
    const float* from = call.partial + (column - call.column);
    float* to = task.y + call.row * task.y_stride + block * task.block_stride + column -
                block * task.block_cols;
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < run_end - column; ++i) to[i] = from[i];
      from += NV * kLanes;
      to += task.y_stride;
    }
    column = run_end;
  }
}

// Every access to the accumulators has constant indices: a single loop that is not unrolled makes
// the compiler keep them in memory throughout.
template <int MR, int NV>
HEADROOM_INLINE void store_partial(const Accumulators<MR, NV>& acc, float* partial) {
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(partial + (r * NV + v) * kLanes, acc.v[r][v]);
  }
}

template <int MR, int NV>
HEADROOM_INLINE void run_tile(const ProjectTask& task, const TileCall& call) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    if (call.first) {
      const Vec start = call.bias != nullptr ? load(call.bias + v * kLanes) : Vec(0.0F);
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) acc.v[r][v] = start;
    } else {
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) acc.v[r][v] = load(call.partial + (r * NV + v) * kLanes);
    }
  }
  // A wide tile has few multiply-adds per load, so prefetch instructions would slow it down.
  accumulate<MR, NV, NV <= 2>(acc, call.a, call.b, call.panel_stride, call.depth);
  if (call.last) {
    const Destination<NV> to = find_destination<NV>(task, call);
    if (to.whole) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) store(to.y[v] + r * task.y_stride, acc.v[r][v]);
      }
      return;
    }
  }
  store_partial(acc, call.partial);
  if (call.last) scatter_tile<NV>(task, call, MR);
}

/// One stage of the depth for all tiles of the task.
struct Stage {
  std::int64_t begin = 0;
  std::int64_t depth = 0;
  bool first = true, last = true;
};

/// Tiles of MR rows over the panels from `panel` on; returns how many panels it took.
template <int MR>
[[gnu::noinline]] std::int64_t run_panels(const ProjectTask& task, const Stage& stage,
                                          const float* a, std::int64_t row, std::int64_t panel,
                                          float* partial) {
  const std::int64_t column = panel * kPanel;
  const bool narrow = task.cols - column <= kLanes;
  const std::int64_t width = narrow ? kLanes : kPanel;
  const TileCall call{a,
                      task.panels + column * task.depth + stage.begin * width,
                      task.depth * kPanel,
                      stage.depth,
                      task.bias != nullptr ? task.bias + column : nullptr,
                      partial,
                      stage.first,
                      stage.last,
                      row,
                      column};
  constexpr int kWide = kWideVectors<MR>;
  if (narrow) {
    run_tile<MR, 1>(task, call);
    return 1;
  }
  if constexpr (kWide > 2) {
    // All of the wide tile's panels must be full ones.
    const std::int64_t wide_end = column + kWide / 2 * kPanel;
    if (panel + kWide / 2 <= task.panel_end && task.cols > wide_end - kLanes) {
      run_tile<MR, kWide>(task, call);
      return kWide / 2;
    }
  }
  run_tile<MR, 2>(task, call);
  return 1;
}

HEADROOM_INLINE void project_stage(const ProjectTask& task, const Stage& stage, float* packed,
                                   float* partials) {
  const std::int64_t first_row = tile_begin(task.rows, task.tiles, task.tile_begin);
  const std::int64_t padded = (stage.depth + kChunk - 1) / kChunk * kChunk;
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    const std::int64_t row = tile_begin(task.rows, task.tiles, t);
    const std::int64_t rows = tile_begin(task.rows, task.tiles, t + 1) - row;
    pack_rows(task.x + row * task.x_stride + stage.begin, task.x_stride, rows, stage.depth,
              packed + (row - first_row) * padded);
  }
  // A panel's stage stays in the nearest cache while the tiles of packed rows pass over it. Tiles
  // of few rows take several panels at a time. The tiles of a task differ by at most one row, so
  // they may take different numbers of panels: each walks the panels on its own.
  const std::int64_t group = 4;  // panels of the widest tile
  for (std::int64_t g = task.panel_begin; g < task.panel_end; g += group) {
    const std::int64_t end = g + group < task.panel_end ? g + group : task.panel_end;
    ProjectTask part = task;
    part.panel_end = end;
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      const std::int64_t row = tile_begin(task.rows, task.tiles, t);
      const std::int64_t rows = tile_begin(task.rows, task.tiles, t + 1) - row;
      float* partial = partials + ((t - task.tile_begin) * (task.panel_end - task.panel_begin) +
                                   (g - task.panel_begin)) *
                                      kTileRows * kPanel;
      with_rows(
          rows, [&]<int MR>() __attribute__((always_inline)) {
            for (std::int64_t p = g; p < end;) {
              p += run_panels<MR>(part, stage, packed + (row - first_row) * padded, row, p,
                                  partial + (p - g) * kTileRows * kPanel);
            }
          });
    }
  }
}

inline void project(const ProjectTask& task) {
  const std::int64_t rows = tile_begin(task.rows, task.tiles, task.tile_end) -
                            tile_begin(task.rows, task.tiles, task.tile_begin);
  float* packed = task.scratch;
  float* partials = packed + rows * task.stage_depth;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    const std::int64_t rest = task.depth - k;
    const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
    project_stage(task, {k, depth, k == 0, k + depth == task.depth}, packed, partials);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
