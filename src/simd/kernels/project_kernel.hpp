// A block of the projection: row tiles times weight panels, the depth in stages.
#pragma once

#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Where one tile starts, continues and ends.
template <class B>
struct TileCall {
  const float* a;
  const B* b;
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

template <int NV, class B>
HEADROOM_INLINE Destination<NV> find_destination(const PanelRun& run, const TileCall<B>& call) {
  Destination<NV> to;
  to.whole = true;
  std::int64_t block = call.column / run.block_cols;  // one division per tile, because it is slow
  std::int64_t inside = call.column - block * run.block_cols;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    to.y[v] = run.y + call.row * run.y_stride + block * run.block_stride + inside;
    to.whole = to.whole && inside + kLanes <= run.block_cols;
    inside += kLanes;
    while (inside >= run.block_cols) {
      inside -= run.block_cols;
      ++block;
    }
  }
  return to;
}

/// Copies finished rows from the tile's partial sums, each in pieces that end where a head ends.
template <int NV, class B>
[[gnu::noinline]] void scatter_tile(const PanelRun& run, const TileCall<B>& call, int rows) {
  const std::int64_t end =
      call.column + NV * kLanes < run.cols ? call.column + NV * kLanes : run.cols;
  for (std::int64_t column = call.column; column < end;) {
    const std::int64_t block = column / run.block_cols;
    const std::int64_t block_end = (block + 1) * run.block_cols;
    const std::int64_t piece_end = block_end < end ? block_end : end;
    const float* from = call.partial + (column - call.column);
    float* to = run.y + call.row * run.y_stride + block * run.block_stride + column -
                block * run.block_cols;
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < piece_end - column; ++i) to[i] = from[i];
      from += NV * kLanes;
      to += run.y_stride;
    }
    column = piece_end;
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

template <int MR, int NV, Ask kAsk, class B>
HEADROOM_INLINE void run_tile(const PanelRun& run, const TileCall<B>& call) {
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
  accumulate<MR, NV, NV <= 2 ? kAsk : Ask::nothing>(acc, call.a, call.b, call.panel_stride,
                                                    call.depth);
  if (call.last) {
    const Destination<NV> to = find_destination<NV>(run, call);
    if (to.whole) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) store(to.y[v] + r * run.y_stride, acc.v[r][v]);
      }
      return;
    }
  }
  store_partial(acc, call.partial);
  if (call.last) scatter_tile<NV>(run, call, MR);
}

/// One stage of the depth for all tiles of the task.
struct Stage {
  std::int64_t whole_depth = 0;  ///< of all stages together
  std::int64_t begin = 0;
  std::int64_t depth = 0;
  bool first = true, last = true;
};

/// Tiles of MR rows over the panels from `panel` on; returns how many panels it took.
template <class B, int MR, Ask kAsk>
[[gnu::noinline]] std::int64_t run_panels(const PanelRun& run, const Stage& stage, const float* a,
                                          std::int64_t row, std::int64_t panel, float* partial) {
  const std::int64_t column = panel * kPanel;
  const bool narrow = run.cols - column <= kLanes;
  const std::int64_t width = narrow ? kLanes : kPanel;
  const TileCall<B> call{
      a,
      static_cast<const B*>(run.panels) + column * stage.whole_depth + stage.begin * width,
      stage.whole_depth * kPanel,
      stage.depth,
      run.bias != nullptr ? run.bias + column : nullptr,
      partial,
      stage.first,
      stage.last,
      row,
      column};
  constexpr int kWide = kWideVectors<MR>;
  if (narrow) {
    run_tile<MR, 1, kAsk>(run, call);
    return 1;
  }
  if constexpr (kWide > 2) {
    // All of a wide tile's panels must be full ones.
    const auto fits = [&](std::int64_t panels) __attribute__((always_inline)) {
      return panel + panels <= run.panel_end && run.cols > column + panels * kPanel - kLanes;
    };
    if (fits(kWide / 2)) {
      run_tile<MR, kWide, kAsk>(run, call);
      return kWide / 2;
    }
    if constexpr (kWide > 4) {
      if (fits(2)) {
        run_tile<MR, 4, kAsk>(run, call);
        return 2;
      }
    }
  }
  run_tile<MR, 2, kAsk>(run, call);
  return 1;
}

/// All panels of a group, which is less than a run.
template <class B, int MR, Ask kAsk>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial) {
  for (std::int64_t p = group.panel_begin; p < group.panel_end;) {
    p += run_panels<B, MR, kAsk>(group, stage, a, row, p,
                                 partial + (p - group.panel_begin) * kTileRows * kPanel);
  }
}

/// Low tiles are few, and take several panels at a time: they know one way only.
template <class B, int MR>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial, Ask ask) {
  if constexpr (MR > kTileRows / 2) {
    if (ask == Ask::near) return run_group<B, MR, Ask::near>(group, stage, a, row, partial);
  }
  run_group<B, MR, Ask::far>(group, stage, a, row, partial);
}

/// The first head of the group that it reaches into is enough: the rest follows it or is a new
/// head.
HEADROOM_INLINE void ask_for_y(const PanelRun& group, std::int64_t row, std::int64_t rows) {
  const std::int64_t column = group.panel_begin * kPanel;
  const std::int64_t block = column / group.block_cols;
  const std::int64_t inside = column - block * group.block_cols;
  const std::int64_t rest = group.block_cols - inside;
  const std::int64_t wanted = (group.panel_end - group.panel_begin) * kPanel;
  const std::int64_t width = wanted < rest ? wanted : rest;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* to = group.y + (row + r) * group.y_stride + block * group.block_stride + inside;
    for (std::int64_t c = 0; c < width; c += kChunk) __builtin_prefetch(to + c, 1, 3);
  }
}

/// A group of panels of one run, for all tiles of the task.
template <class B>
HEADROOM_INLINE void project_group(const ProjectTask& task, const Stage& stage,
                                   const PanelRun& group, float* packed, float* partials,
                                   std::int64_t partial_panels, bool first_group) {
  const std::int64_t first_row = tile_begin(task.rows, task.tiles, task.tile_begin);
  const std::int64_t padded = (stage.depth + kChunk - 1) / kChunk * kChunk;
  const auto pack = [&](std::int64_t t) __attribute__((always_inline)) {
    const std::int64_t row = tile_begin(task.rows, task.tiles, t);
    pack_rows(task.x + row * task.x_stride + stage.begin, task.x_stride,
              tile_begin(task.rows, task.tiles, t + 1) - row, stage.depth,
              packed + (row - first_row) * padded);
  };
  if (first_group && !task.pack_late) {
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) pack(t);
  }
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    const std::int64_t row = tile_begin(task.rows, task.tiles, t);
    const std::int64_t rows = tile_begin(task.rows, task.tiles, t + 1) - row;
    if (first_group && task.pack_late) pack(t);
    if (stage.last && task.ask_for_y) ask_for_y(group, row, rows);
    const Ask ask = t == task.tile_begin ? Ask::far : task.ask;
    const float* tile = packed + (row - first_row) * padded;
    float* partial = partials + (t - task.tile_begin) * partial_panels * kTileRows * kPanel;
    with_rows(
        rows, [&]<int MR>() __attribute__((always_inline)) {
          run_group<B, MR>(group, stage, tile, row, partial, ask);
        });
  }
}

template <class B>
HEADROOM_INLINE void project_stage(const ProjectTask& task, const Stage& stage, float* packed,
                                   float* partials) {
  std::int64_t panels = 0;
  for (std::int64_t r = 0; r < task.run_count; ++r) {
    panels += task.runs[r].panel_end - task.runs[r].panel_begin;
  }
  // A panel's stage stays in the nearest cache while the tiles of packed rows pass over it. Tiles
  // of few rows take several panels at a time. The tiles of a task differ by at most one row, so
  // they may take different numbers of panels: each walks the panels on its own.
  bool first_group = true;
  for (std::int64_t r = 0; r < task.run_count; ++r) {
    PanelRun group = task.runs[r];
    for (; group.panel_begin < task.runs[r].panel_end; group.panel_begin = group.panel_end) {
      const std::int64_t end = group.panel_begin + kMostTilePanels;
      group.panel_end = end < task.runs[r].panel_end ? end : task.runs[r].panel_end;
      project_group<B>(task, stage, group, packed, partials, panels, first_group);
      partials += (group.panel_end - group.panel_begin) * kTileRows * kPanel;
      first_group = false;
    }
  }
}

template <class B>
void project(const ProjectTask& task) {
  const std::int64_t rows = tile_begin(task.rows, task.tiles, task.tile_end) -
                            tile_begin(task.rows, task.tiles, task.tile_begin);
  float* packed = task.scratch;
  float* partials = packed + rows * task.stage_depth;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    const std::int64_t rest = task.depth - k;
    const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
    project_stage<B>(task, {task.depth, k, depth, k == 0, k + depth == task.depth}, packed,
                     partials);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
