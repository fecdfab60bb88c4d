// A block of the projection: row tiles times weight panels, the depth in stages.
#pragma once

#include "simd/kernels/projection/project_prefetches.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Low tiles are few, and take several panels at a time: they know one way only.
template <int MR>
inline constexpr bool kHigh = MR > kTileRows / 2;

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
    prefetches.share_panels(next, t - task.tile_begin, task.tile_end - task.tile_begin,
                            padded / kChunk);
    if (task.prefetches && t + 1 < task.tile_end) {
      if (!stage.first) prefetches.sums = partial + tile_partials;
      if (first_group && task.pack_late) {
        prefetches.share_rows(task.x.from(row + rows, stage.begin),
                              tile_begin(task.rows, task.tiles, t + 2) - (row + rows),
                              group.panel_end - group.panel_begin);
      }
    }
    with_rows(
        rows, [&]<int MR>() __attribute__((always_inline)) {
          run_group<B, MR>(group, stage, tile, row, partial, prefetches, prefetch);
        });
  }
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
