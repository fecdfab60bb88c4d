// A block of the projection: row tiles times weight panels, the depth in stages.
#pragma once

#include "simd/kernels/rows.hpp"
#include "simd/kernels/tile.hpp"
#include "simd/kernels/weight_groups.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Memory that a tile prefetches while it is multiplied, a few lines per chunk of the depth, so
/// that nobody waits for it later. All at once it would take every place for misses that the core
/// has.
struct TilePrefetches {
  const char* x = nullptr;                ///< some of the next tile's rows, which are packed next
  std::int64_t x_stride = 0, x_step = 0;  ///< bytes to the next row, and to the next chunk
  std::int64_t x_rows = 0;
  const float* sums = nullptr;   ///< of the next tile, or null
  const char* panel = nullptr;   ///< a share of a panel of the next group
  std::int64_t panel_lines = 0;  ///< per chunk
  bool y = false;                ///< where the tile is stored
  bool groups = false;           ///< of weights in few bits
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
  const TilePrefetches& prefetches;
};

/// Low tiles are few, and take several panels at a time: they know one way only.
template <int MR>
inline constexpr bool kHigh = MR > kTileRows / 2;

/// Where the vectors of a tile go.
template <int NV>
struct Destination {
  float* y[NV];  ///< of the tile's first row
  /// They are of floats, and no vector crosses the end of a head. Each starts inside the matrix,
  /// which ends with a head, so that one which crosses the matrix's end crosses a head's.
  bool whole;
};

template <int NV, class B>
HEADROOM_INLINE Destination<NV> find_destination(const PanelRun& run, const TileCall<B>& call) {
  Destination<NV> to;
  to.whole = run.y_dtype == Dtype::f32;
  if (!to.whole) {
    for (int v = 0; v < NV; ++v) to.y[v] = nullptr;
    return to;
  }
  std::int64_t block = call.column / run.block_cols;  // one division per tile, because it is slow
  std::int64_t inside = call.column - block * run.block_cols;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    to.y[v] =
        static_cast<float*>(run.y) + call.row * run.y_stride + block * run.block_stride + inside;
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
/// @tparam Y what y is of: float or Half
template <int NV, class Y, class B>
[[gnu::noinline]] void scatter_tile(const PanelRun& run, const TileCall<B>& call, int rows) {
  const std::int64_t end =
      call.column + NV * kLanes < run.cols ? call.column + NV * kLanes : run.cols;
  for (std::int64_t column = call.column; column < end;) {
    const std::int64_t block = column / run.block_cols;
    const std::int64_t block_end = (block + 1) * run.block_cols;
    const std::int64_t piece_end = block_end < end ? block_end : end;
    const float* from = call.partial + (column - call.column);
    Y* to = static_cast<Y*>(run.y) + call.row * run.y_stride + block * run.block_stride + column -
            block * run.block_cols;
    for (int r = 0; r < rows; ++r) {
      copy_values_of(from, piece_end - column, to);
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

/// The prefetches of one tile, from chunk to chunk.
template <int MR, int NV>
class TilePrefetcher {
 public:
  HEADROOM_INLINE TilePrefetcher(const TilePrefetches& prefetches, const Destination<NV>& to,
                                 std::int64_t y_stride)
      : prefetches_(prefetches),
        sums_(prefetches.sums != nullptr ? MR * NV * kLanes : 0),
        y_(to.y[0]),
        y_stride_(y_stride),
        y_rows_(prefetches.y && to.whole ? MR : 0) {}

  HEADROOM_INLINE void operator()(std::int64_t left) {
    const char* x = prefetches_.x;
    for (std::int64_t r = 0; r < prefetches_.x_rows; ++r) {
      __builtin_prefetch(x, 0, 2);
      x += prefetches_.x_stride;
    }
    prefetches_.x += prefetches_.x_step;
    for (std::int64_t i = 0; i < prefetches_.panel_lines; ++i) {
      __builtin_prefetch(prefetches_.panel, 0, 2);
      prefetches_.panel += kLine;
    }
    if (sums_ > 0) {
      __builtin_prefetch(prefetches_.sums, 0, 2);
      prefetches_.sums += kChunk;
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

  HEADROOM_INLINE void step() const {}

 private:
  static constexpr std::int64_t kMargin = 4;  ///< chunks, 900 cycles of a full AVX-512 tile
  TilePrefetches prefetches_;
  std::int64_t sums_;
  float* y_;
  std::int64_t y_stride_;
  std::int64_t y_rows_;
};

template <int MR, int NV, Prefetch kPrefetch, bool kWanted, class B>
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
  constexpr bool kPrefetches = NV <= 2 && kWanted;
  Destination<NV> to;
  if constexpr (kIsFewBits<B>) {
    accumulate_few<MR, NV>(acc, call.a, call.b, call.panel_stride, call.depth,
                           call.prefetches.groups);
  } else if constexpr (kPrefetches) {
    to.whole = false;
    if (call.last) to = find_destination<NV>(run, call);
    accumulate<MR, NV, kPrefetch>(acc, call.a, call.b, call.panel_stride, call.depth, kRow,
                                  TilePrefetcher<MR, NV>(call.prefetches, to, run.y_stride));
  } else {
    // A wide tile has few multiply-adds per load, so prefetch instructions would slow it down.
    accumulate<MR, NV, NV <= 2 ? kPrefetch : Prefetch::none>(acc, call.a, call.b, call.panel_stride,
                                                             call.depth, kRow);
  }
  if (call.last) {
    if constexpr (!kPrefetches) to = find_destination<NV>(run, call);
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
  if (!call.last) return;
  if (run.y_dtype == Dtype::f32) {
    scatter_tile<NV, float>(run, call, MR);
  } else {
    scatter_tile<NV, Half>(run, call, MR);
  }
}

/// One stage of the depth for all tiles of the task.
struct Stage {
  std::int64_t panel_depth = 0;  ///< of the panels in memory: that of all stages together
  std::int64_t begin = 0;
  std::int64_t depth = 0;
  bool first = true, last = true;
  std::int64_t in_panel = begin;  ///< where the stage begins in a panel
};

/// Tiles of MR rows over the panels from `panel` on; returns how many panels it took.
/// @tparam kPrefetches whether they run any
/// @tparam kWide vectors of the widest tile
template <class B, int MR, Prefetch kPrefetch, bool kPrefetches, int kWide = kWideVectors<MR>>
[[gnu::noinline]] std::int64_t run_panels(const PanelRun& run, const Stage& stage, const float* a,
                                          std::int64_t row, std::int64_t panel, float* partial,
                                          const TilePrefetches& prefetches) {
  const std::int64_t column = panel * kPanel;
  const bool narrow = run.cols - column <= kLanes;
  const std::int64_t width = narrow ? kLanes : kPanel;
  const TileCall<B> call{
      a,
      weight_at<B>(run.panels, (column - run.first_panel * kPanel) * stage.panel_depth +
                                   stage.in_panel * width),
      stage.panel_depth * kPanel,
      stage.depth,
      run.bias != nullptr ? run.bias + column : nullptr,
      partial,
      stage.first,
      stage.last,
      row,
      column,
      prefetches};
  if (narrow) {
    run_tile<MR, 1, kPrefetch, kPrefetches>(run, call);
    return 1;
  }
  if constexpr (kWide > 2) {
    // All of a wide tile's panels must be full ones.
    const auto fits = [&](std::int64_t panels) __attribute__((always_inline)) {
      return panel + panels <= run.panel_end && run.cols > column + panels * kPanel - kLanes;
    };
    if (fits(kWide / 2)) {
      run_tile<MR, kWide, kPrefetch, kPrefetches>(run, call);
      return kWide / 2;
    }
    if constexpr (kWide > 4) {
      if (fits(2)) {
        run_tile<MR, 4, kPrefetch, kPrefetches>(run, call);
        return 2;
      }
    }
  }
  run_tile<MR, 2, kPrefetch, kPrefetches>(run, call);
  return 1;
}

/// The prefetches of a row tile over a group of panels, which share the next tile's rows.
struct GroupPrefetches {
  const char* x = nullptr;                ///< first row of the next tile
  std::int64_t x_stride = 0, x_step = 0;  ///< as of a tile
  std::int64_t x_rows = 0;
  std::int64_t rows_per_panel = 0;
  const float* sums = nullptr;   ///< of the next tile and the group's first panel, or null
  const char* panels = nullptr;  ///< this tile's share of the next group's first panel
  std::int64_t panel_bytes = 0;  ///< from one panel to the next
  std::int64_t panel_lines = 0;  ///< per chunk
  std::int64_t panel_count = 0;
  bool y = false;

  HEADROOM_INLINE TilePrefetches of_panel(std::int64_t i) const {
    TilePrefetches one;
    const std::int64_t first = i * rows_per_panel;
    const std::int64_t rest = x_rows - first;
    one.x_rows = rest < 0 ? 0 : rest < rows_per_panel ? rest : rows_per_panel;
    if (one.x_rows > 0) one.x = x + first * x_stride;
    one.x_stride = x_stride;
    one.x_step = x_step;
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
template <class B, int MR, Prefetch kPrefetch, bool kPrefetches>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial,
                               const GroupPrefetches& prefetches) {
  TilePrefetches of_panel;  // nothing
  for (std::int64_t p = group.panel_begin; p < group.panel_end;) {
    const std::int64_t i = p - group.panel_begin;
    if constexpr (kPrefetches) of_panel = prefetches.of_panel(i);
    p += run_panels<B, MR, kPrefetch, kPrefetches>(group, stage, a, row, p,
                                                   partial + i * kTileRows * kPanel, of_panel);
  }
}

template <class B, int MR>
HEADROOM_INLINE void run_group(const PanelRun& group, const Stage& stage, const float* a,
                               std::int64_t row, float* partial, const GroupPrefetches& prefetches,
                               Prefetch prefetch) {
  if constexpr (kHigh<MR>) {
    if (prefetch == Prefetch::near) {
      return run_group<B, MR, Prefetch::near, true>(group, stage, a, row, partial, prefetches);
    }
    if (prefetches.y || prefetches.panel_count > 0) {
      return run_group<B, MR, Prefetch::far, true>(group, stage, a, row, partial, prefetches);
    }
  }
  run_group<B, MR, Prefetch::far, false>(group, stage, a, row, partial, prefetches);
}

/// The panels that follow a group's, at their stage of the depth.
struct NextPanels {
  const char* first = nullptr;
  std::int64_t bytes = 0;        ///< from one panel to the next
  std::int64_t stage_bytes = 0;  ///< of one panel
  std::int64_t count = 0;        ///< 0: none
};

/// A group of panels of one run, for all tiles of the task.
/// @param next prefetched while this group is multiplied
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
    with_input(
        task.x.from(row, stage.begin), [&](const auto* x) __attribute__((always_inline)) {
          pack_rows(x, task.x.stride, tile_begin(task.rows, task.tiles, t + 1) - row, stage.depth,
                    packed + (row - first_row) * padded);
        });
  };
  if (first_group && !task.pack_late) {
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) pack(t);
  }
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    const std::int64_t row = tile_begin(task.rows, task.tiles, t);
    const std::int64_t rows = tile_begin(task.rows, task.tiles, t + 1) - row;
    if (first_group && task.pack_late) pack(t);
    const Prefetch prefetch = t == task.tile_begin && !expected ? Prefetch::far : task.prefetch;
    const float* tile = packed + (row - first_row) * padded;
    float* partial = partials + (t - task.tile_begin) * tile_partials;
    GroupPrefetches prefetches;
    prefetches.y = task.prefetches;
    if (next.count > 0) {
      const std::int64_t tiles = task.tile_end - task.tile_begin;
      const std::int64_t lines = next.stage_bytes / kLine;
      const std::int64_t chunks = padded / kChunk;
      prefetches.panels = next.first + lines * (t - task.tile_begin) / tiles * kLine;
      prefetches.panel_bytes = next.bytes;
      prefetches.panel_lines = (lines / tiles + chunks) / chunks;
      prefetches.panel_count = next.count;
    }
    if (task.prefetches && t + 1 < task.tile_end) {
      if (!stage.first) prefetches.sums = partial + tile_partials;
      if (first_group && task.pack_late) {
        const std::int64_t panels = group.panel_end - group.panel_begin;
        const InputRows x = task.x.from(row + rows, stage.begin);
        prefetches.x = static_cast<const char*>(x.data);
        prefetches.x_stride = x.stride * value_bytes(x.dtype);
        prefetches.x_step = kChunk * value_bytes(x.dtype);
        prefetches.x_rows = tile_begin(task.rows, task.tiles, t + 2) - (row + rows);
        prefetches.rows_per_panel = (prefetches.x_rows + panels - 1) / panels;
      }
    }
    with_rows(
        rows, [&]<int MR>() __attribute__((always_inline)) {
          run_group<B, MR>(group, stage, tile, row, partial, prefetches, prefetch);
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
  next.first =
      static_cast<const char*>(run.panels) + (begin * stage.panel_depth + stage.begin) * kBytes;
  next.bytes = stage.panel_depth * kBytes;
  next.stage_bytes = stage.depth * kBytes;
  next.count = group_end(run, begin) - begin;
  if (run.cols < (begin + next.count) * kPanel) --next.count;  // a narrow one
  return next;
}

/// The panels of a group as floats, one stage of them, in `room`.
template <class B>
HEADROOM_INLINE void expand_group(PanelRun& group, Stage& stage, float* room) {
  for (std::int64_t p = group.panel_begin; p < group.panel_end; ++p) {
    expand_rows<B>(group, p * kPanel, {stage.panel_depth, stage.in_panel, stage.depth},
                   room + (p - group.panel_begin) * kPanel * stage.depth);
  }
  group.panels = room;
  group.first_panel = group.panel_begin;
  stage.panel_depth = stage.depth;
  stage.in_panel = 0;
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
      if (task.prefetch_panels && !kIsFewBits<B>) {
        if (group.panel_end < task.runs[r].panel_end) {
          next = panels_from<B>(task.runs[r], group.panel_end, stage);
        } else if (r + 1 < task.run_count) {
          next = panels_from<B>(task.runs[r + 1], task.runs[r + 1].panel_begin, stage);
        } else if (!stage.last) {
          next = panels_from<B>(task.runs[0], task.runs[0].panel_begin, next_stage);
        }
      }
      const bool expected = task.prefetch_panels && !(stage.first && first_group);
      if constexpr (kIsFewBits<B>) {
        PanelRun floats = group;
        Stage of_floats = stage;
        expand_group<B>(floats, of_floats, task.panel_room);
        project_group<float>(task, of_floats, floats, packed, partials, panels, first_group, {},
                             false);
      } else {
        project_group<B>(task, stage, group, packed, partials, panels, first_group, next, expected);
      }
      partials += (group.panel_end - group.panel_begin) * kTileRows * kPanel;
      first_group = false;
    }
  }
}

template <class B>
HEADROOM_INLINE Stage stage_at(const ProjectTask& task, std::int64_t k) {
  const std::int64_t panel_depth = kIsFewBits<B> ? whole_groups(task.depth) : task.depth;
  const std::int64_t rest = task.depth - k;
  const std::int64_t depth = rest < task.stage_depth ? rest : task.stage_depth;
  return {panel_depth, k, depth, k == 0, k + depth == task.depth};
}

template <class B>
void project(const ProjectTask& task) {
  const std::int64_t rows = tile_begin(task.rows, task.tiles, task.tile_end) -
                            tile_begin(task.rows, task.tiles, task.tile_begin);
  float* packed = task.scratch;
  float* partials = packed + rows * task.stage_depth;
  for (std::int64_t k = 0; k < task.depth; k += task.stage_depth) {
    project_stage<B>(task, stage_at<B>(task, k), stage_at<B>(task, k + task.stage_depth), packed,
                     partials);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
