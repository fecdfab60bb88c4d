// Weights in few bits, cut into parts as a task uses them: parts in memory would be two to twelve
// times the bytes that a step of decoding reads.
#pragma once

#include "simd/kernels/projection/weight_groups.hpp"
#include "simd/tiles/project_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Some rows of the depth of a block of 32 columns, as floats in `room`.
template <class B>
HEADROOM_INLINE void expand_columns(const PanelRun& run, std::int64_t block, const PanelRows& rows,
                                    float* room, Columns<float> (&columns)[kBlockVectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < kBlockVectors; v += 2) {
    const std::int64_t column = block * kTileBlock + v * kLanes;
    if (column >= run.cols) return;
    float* floats = room + v * kLanes * whole(rows.depth, kGroup);
    const std::int64_t width = expand_rows<B>(run, column, rows, floats);
    columns[v] = {floats, width};
    if (width > kLanes) columns[v + 1] = {floats + kLanes, width};
  }
}

/// Some steps of the depth of a block of 32 columns.
struct BlockSteps {
  std::int64_t block = 0;
  std::int64_t first = 0;  ///< of them, in the stage
  std::int64_t count = 0;
};

/// They become right tiles in `memory.right`. No weight is too large or too small for parts: scales
/// are fp16 numbers.
/// @return of fp16 parts, whose steps are the whole stage
template <class S, class B>
[[gnu::noinline]] Fp16Range cut_groups(const TileProjectTask& task, const TileStage& stage,
                                       const ProjectMemory& memory, const PanelRun& run,
                                       const BlockSteps& steps) {
  static_assert(kGroup == kTileDepth, "a step is a group");
  const std::int64_t panel_depth = whole(task.depth, kGroup);
  if constexpr (kOfFp16<S::kPrecision>) {
    Columns<float> columns[kBlockVectors];
    expand_columns<B>(run, steps.block, {panel_depth, stage.begin, stage.depth},
                      memory.floats_of_right, columns);
    return cut_fp16_columns<S>(columns, stage.depth, stage.steps, memory.right);
  } else {
    alignas(64) float group[kGroup * kTileBlock];
    Sizes nobody_asks[kBlockVectors];
    for (std::int64_t s = 0; s < steps.count; ++s) {
      const std::int64_t begin = stage.begin + (steps.first + s) * kGroup;
      const std::int64_t depth = task.depth - begin < kGroup ? task.depth - begin : kGroup;
      Columns<float> columns[kBlockVectors];
      expand_columns<B>(run, steps.block, {panel_depth, begin, depth}, group, columns);
      cut_columns<S>(columns, depth, 1, nullptr, memory.right + s * S::kRight * kRightStep,
                     nobody_asks);
    }
    return {};
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
