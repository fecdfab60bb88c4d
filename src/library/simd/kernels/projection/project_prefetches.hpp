// What the tiles of a group of panels prefetch: the next group's panels, and the next tile's rows
// and sums.
#pragma once

#include "simd/kernels/projection/project_tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// One stage of the depth for all tiles of the task.
struct Stage {
  std::int64_t panel_depth = 0;  ///< of the panels in memory: that of all stages together
  std::int64_t begin = 0;
  std::int64_t depth = 0;
  bool first = true, last = true;
  std::int64_t in_panel = begin;  ///< where the stage begins in a panel
};

HEADROOM_INLINE std::int64_t group_end(const PanelRun& run, std::int64_t begin) {
  const std::int64_t end = begin + kMostTilePanels;
  return end < run.panel_end ? end : run.panel_end;
}

/// The panels that follow a group's, at their stage of the depth.
struct NextPanels {
  const char* first = nullptr;
  std::int64_t bytes = 0;        ///< from one panel to the next
  std::int64_t stage_bytes = 0;  ///< of one panel
  std::int64_t count = 0;        ///< 0: none
};

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

  /// Of the next group, what falls to one of the row tiles.
  /// @param chunks of the depth, in which a tile asks for it
  HEADROOM_INLINE void share_panels(const NextPanels& next, std::int64_t tile, std::int64_t tiles,
                                    std::int64_t chunks) {
    if (next.count == 0) return;
    const std::int64_t lines = next.stage_bytes / kLine;
    panels = next.first + lines * tile / tiles * kLine;
    panel_bytes = next.bytes;
    panel_lines = (lines / tiles + chunks) / chunks;
    panel_count = next.count;
  }

  /// The next tile's rows, some of them beside each panel of this group.
  HEADROOM_INLINE void share_rows(const InputRows& rows, std::int64_t count,
                                  std::int64_t group_panels) {
    x = static_cast<const char*>(rows.data);
    x_stride = rows.stride * value_bytes(rows.dtype);
    x_step = kChunk * value_bytes(rows.dtype);
    x_rows = count;
    rows_per_panel = (count + group_panels - 1) / group_panels;
  }

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

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
