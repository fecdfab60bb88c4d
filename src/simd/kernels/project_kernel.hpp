// A block of the projection: row tiles times weight panels, the depth in stages.
#pragma once

#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Memory that a tile asks for while it is multiplied, a few lines per chunk of the depth, so that
/// nobody waits for it later. All at once it would take every place for misses that the core has.
struct Errands {
  const float* x = nullptr;  ///< some of the next tile's rows, which are packed next
  std::int64_t x_stride = 0;
  std::int64_t x_rows = 0;
  const float* sums = nullptr;  ///< of the next tile, or null
  const char* panel = nullptr;  ///< a share of a panel of the next group
  std::int64_t panel_lines = 0;  ///< per chunk
  bool y = false;                ///< where the tile is stored
};

inline constexpr std::int64_t kLine = 64;  ///< bytes of a cache line

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
  Errands errands;
};

/// Low tiles are few, and take several panels at a time: they know one way only.
template <int MR>
inline constexpr bool kHigh = MR > kTileRows / 2;

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

/// The errands of one tile, from chunk to chunk.
template <int MR, int NV>
class TileErrand {
 public:
  HEADROOM_INLINE TileErrand(const Errands& errands, const Destination<NV>& to,
                             std::int64_t y_stride)
      : errands_(errands),
        sums_(errands.sums != nullptr ? MR * NV * kLanes : 0),
        y_(to.y[0]),
        y_stride_(y_stride),
        y_rows_(errands.y && to.whole ? MR : 0) {}

  HEADROOM_INLINE void operator()(std::int64_t left) {
    const float* x = errands_.x;
    for (std::int64_t r = 0; r < errands_.x_rows; ++r) {
      __builtin_prefetch(x, 0, 2);
      x += errands_.x_stride;
    }
    errands_.x += kChunk;
    for (std::int64_t i = 0; i < errands_.panel_lines; ++i) {
      __builtin_prefetch(errands_.panel, 0, 2);
      errands_.panel += kLine;
    }
    if (sums_ > 0) {
      __builtin_prefetch(errands_.sums, 0, 2);
      errands_.sums += kChunk;
      sums_ -= kChunk;
    }
    // Last, as otherwise the operands that stream through the L1 would push them out again.
    if (y_rows_ > 0 && left <= (MR + kMargin) * kChunk) {
      __builtin_prefetch(y_, 1, 3);
      if constexpr (NV > 1) __builtin_prefetch(y_ + kLanes, 1, 3);
      y_ += y_stride_;
      --y_rows_;
    }
  }

 private:
  static constexpr std::int64_t kMargin = 4;  ///< chunks, 900 cycles of a full AVX-512 tile
  Errands errands_;
  std::int64_t sums_;
  float* y_;
  std::int64_t y_stride_;
  std::int64_t y_rows_;
};

template <int MR, int NV, Ask kAsk, bool kRuns, class B>
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
  constexpr std::int64_t kRow = kVectorsPerPanel<NV> * kLanes;
  constexpr bool kErrands = NV <= 2 && kRuns;
  Destination<NV> to;
  if constexpr (kErrands) {
    to.whole = false;
    if (call.last) to = find_destination<NV>(run, call);
    accumulate<MR, NV, kAsk>(acc, call.a, call.b, call.panel_stride, call.depth, kRow,
                             TileErrand<MR, NV>(call.errands, to, run.y_stride));
  } else {
    // A wide tile has few multiply-adds per load, so prefetch instructions would slow it down.
    accumulate<MR, NV, NV <= 2 ? kAsk : Ask::nothing>(acc, call.a, call.b, call.panel_stride,
                                                      call.depth, kRow);
  }
  if (call.last) {
    if constexpr (!kErrands) to = find_destination<NV>(run, call);
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
/// @tparam kErrands whether they run any
template <class B, int MR, Ask kAsk, bool kErrands>
[[gnu::noinline]] std::int64_t run_panels(const PanelRun& run, const Stage& stage, const float* a,
                                          std::int64_t row, std::int64_t panel, float* partial,
                                          const Errands& errands) {
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
      column,
      errands};
  constexpr int kWide = kWideVectors<MR>;
  if (narrow) {
    run_tile<MR, 1, kAsk, kErrands>(run, call);
    return 1;
  }
  if constexpr (kWide > 2) {
    // All of a wide tile's panels must be full ones.
    const auto fits = [&](std::int64_t panels) __attribute__((always_inline)) {
      return panel + panels <= run.panel_end && run.cols > column + panels * kPanel - kLanes;
    };
    if (fits(kWide / 2)) {
      run_tile<MR, kWide, kAsk, kErrands>(run, call);
      return kWide / 2;
    }
    if constexpr (kWide > 4) {
      if (fits(2)) {
        run_tile<MR, 4, kAsk, kErrands>(run, call);
        return 2;
      }
    }
  }
  run_tile<MR, 2, kAsk, kErrands>(run, call);
  return 1;
}

/// The errands of a row tile over a group of panels, which share the next tile's rows.
struct GroupErrands {
  const float* x = nullptr;  ///< first row of the next tile
  std::int64_t x_stride = 0;
  std::int64_t x_rows = 0;
  std::int64_t rows_per_panel = 0;
  const float* sums = nullptr;   ///< of the next tile and the group's first panel, or null
  const char* panels = nullptr;  ///< this tile's share of the next group's first panel
  std::int64_t panel_bytes = 0;  ///< from one panel to the next
  std::int64_t panel_lines = 0;  ///< per chunk
  std::int64_t panel_count = 0;
  bool y = false;

  HEADROOM_INLINE Errands of_panel(std::int64_t i) const {
    Errands one;
    const std::int64_t first = i * rows_per_panel;
    const std::int64_t rest = x_rows - first;
    one.x_rows = rest < 0 ? 0 : rest < rows_per_panel ? rest : rows_per_panel;
    if (one.x_rows > 0) one.x = x + first * x_stride;
    one.x_stride = x_stride;
    if (sums != nullptr) one.sums = sums + i * kTileRows * kPanel;
    if (i < panel_count) {
      one.panel = panels + i * panel_bytes;
      one.panel_lines = panel_lines;
    }
    one.y = y;
    return one;
  }
};

/// All panels of a group, which is less than a run.
template <class B, int MR, Ask kAsk, bool kErrands>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial, const GroupErrands& errands) {
  for (std::int64_t p = group.panel_begin; p < group.panel_end;) {
    const std::int64_t i = p - group.panel_begin;
    p += run_panels<B, MR, kAsk, kErrands>(group, stage, a, row, p,
                                           partial + i * kTileRows * kPanel,
                                           kErrands ? errands.of_panel(i) : Errands());
  }
}

template <class B, int MR>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial, const GroupErrands& errands,
                               Ask ask) {
  if constexpr (kHigh<MR>) {
    if (ask == Ask::near) {
      return run_group<B, MR, Ask::near, true>(group, stage, a, row, partial, errands);
    }
    if (errands.y || errands.panel_count > 0) {
      return run_group<B, MR, Ask::far, true>(group, stage, a, row, partial, errands);
    }
  }
  run_group<B, MR, Ask::far, false>(group, stage, a, row, partial, errands);
}

/// The panels that follow a group's, at their stage of the depth.
struct NextPanels {
  const char* first = nullptr;
  std::int64_t bytes = 0;        ///< from one panel to the next
  std::int64_t stage_bytes = 0;  ///< of one panel
  std::int64_t count = 0;        ///< 0: none
};

/// A group of panels of one run, for all tiles of the task.
/// @param next asked for while this group is multiplied
/// @param expected whether this group was
template <class B>
HEADROOM_INLINE void project_group(const ProjectTask& task, const Stage& stage,
                                   const PanelRun& group, float* packed, float* partials,
                                   std::int64_t partial_panels, bool first_group,
                                   const NextPanels& next, bool expected) {
  const std::int64_t first_row = tile_begin(task.rows, task.tiles, task.tile_begin);
  const std::int64_t padded = (stage.depth + kChunk - 1) / kChunk * kChunk;
  const std::int64_t tile_partials = partial_panels * kTileRows * kPanel;
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
    const Ask ask = t == task.tile_begin && !expected ? Ask::far : task.ask;
    const float* tile = packed + (row - first_row) * padded;
    float* partial = partials + (t - task.tile_begin) * tile_partials;
    GroupErrands errands;
    errands.y = task.errands;
    if (next.count > 0) {
      const std::int64_t tiles = task.tile_end - task.tile_begin;
      const std::int64_t lines = next.stage_bytes / kLine;
      const std::int64_t chunks = padded / kChunk;
      errands.panels = next.first + lines * (t - task.tile_begin) / tiles * kLine;
      errands.panel_bytes = next.bytes;
      errands.panel_lines = (lines / tiles + chunks) / chunks;
      errands.panel_count = next.count;
    }
    if (task.errands && t + 1 < task.tile_end) {
      if (!stage.first) errands.sums = partial + tile_partials;
      if (first_group && task.pack_late) {
        const std::int64_t panels = group.panel_end - group.panel_begin;
        errands.x = task.x + (row + rows) * task.x_stride + stage.begin;
        errands.x_stride = task.x_stride;
        errands.x_rows = tile_begin(task.rows, task.tiles, t + 2) - (row + rows);
        errands.rows_per_panel = (errands.x_rows + panels - 1) / panels;
      }
    }
    with_rows(
        rows, [&]<int MR>() __attribute__((always_inline)) {
          run_group<B, MR>(group, stage, tile, row, partial, errands, ask);
        });
  }
}

HEADROOM_INLINE std::int64_t group_end(const PanelRun& run, std::int64_t begin) {
  const std::int64_t end = begin + kMostTilePanels;
  return end < run.panel_end ? end : run.panel_end;
}

template <class B>
HEADROOM_INLINE NextPanels panels_from(const PanelRun& run, std::int64_t begin,
                                       const Stage& stage) {
  constexpr std::int64_t kBytes = kPanel * static_cast<std::int64_t>(sizeof(B));
  NextPanels next;
  next.first = static_cast<const char*>(run.panels) +
               (begin * stage.whole_depth + stage.begin) * kBytes;
  next.bytes = stage.whole_depth * kBytes;
  next.stage_bytes = stage.depth * kBytes;
  next.count = group_end(run, begin) - begin;
  if (run.cols < (begin + next.count) * kPanel) --next.count;  // a narrow one
  return next;
}

template <class B>
HEADROOM_INLINE void project_stage(const ProjectTask& task, const Stage& stage,
                                   const Stage& next_stage, float* packed, float* partials) {
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
      group.panel_end = group_end(task.runs[r], group.panel_begin);
      NextPanels next;
      if (task.ask_for_panels) {
        if (group.panel_end < task.runs[r].panel_end) {
          next = panels_from<B>(task.runs[r], group.panel_end, stage);
        } else if (r + 1 < task.run_count) {
          next = panels_from<B>(task.runs[r + 1], task.runs[r + 1].panel_begin, stage);
        } else if (!stage.last) {
          next = panels_from<B>(task.runs[0], task.runs[0].panel_begin, next_stage);
        }
      }
      const bool expected = task.ask_for_panels && !(stage.first && first_group);
      project_group<B>(task, stage, group, packed, partials, panels, first_group, next, expected);
      partials += (group.panel_end - group.panel_begin) * kTileRows * kPanel;
      first_group = false;
    }
  }
}

HEADROOM_INLINE Stage stage_at(const ProjectTask& task, std::int64_t k) {
  const std::int64_t rest = task.depth - k;
  const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
  return {task.depth, k, depth, k == 0, k + depth == task.depth};
}

template <class B>
void project(const ProjectTask& task) {
  const std::int64_t rows = tile_begin(task.rows, task.tiles, task.tile_end) -
                            tile_begin(task.rows, task.tiles, task.tile_begin);
  float* packed = task.scratch;
  float* partials = packed + rows * task.stage_depth;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    project_stage<B>(task, stage_at(task, k), stage_at(task, k + task.stage_depth), packed,
                     partials);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
