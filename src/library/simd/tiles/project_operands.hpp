// The operands of products by tiles: weights and rows cut into parts, and a task's memory.
//
// Weights are cut when the layer is made: to cut a panel as it is used took as long as half of the
// one product of 128 rows of bf16, and a fifth of their six. What few rows read stays beside them.
// Those in few bits are cut as they are used, see project_groups.hpp.
#pragma once

#include "simd/kernels/rows.hpp"
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
  std::uint16_t* right;
  float* floats_of_right;
  float* f32;
};

template <Precision P>
HEADROOM_INLINE ProjectMemory memory_of(const TileProjectTask& task, std::int64_t blocks) {
  const TileProjectScratch at = tile_project_scratch(
      {P, task.rows, task.depth, task.stage_depth, blocks, is_few_bits(task.storage)},
      task.f32->tile_rows, task.f32->lanes);
  ProjectMemory memory;
  memory.left = reinterpret_cast<std::uint16_t*>(task.scratch);
  memory.sums = task.scratch + at.sums;
  memory.partials = task.scratch + at.partials;
  memory.bad_rows = reinterpret_cast<unsigned char*>(task.scratch + at.flags);
  memory.ranges = reinterpret_cast<Fp16Rows*>(task.scratch + at.ranges);
  memory.right = reinterpret_cast<std::uint16_t*>(task.scratch + at.right);
  memory.floats_of_right = task.scratch + at.floats_of_right;
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
    InputRows row;  // of nothing
    if (r < task.rows) row = task.x.from(r, stage.begin);
    with_input(
        row, [&](const auto* from) __attribute__((always_inline)) {
          if constexpr (kOfFp16<P>) {
            keep_range(cut_fp16_row(from, stage.depth, stage.steps, r % kTileBlock, out),
                       memory.ranges[r / kTileBlock], r % kTileBlock);
            memory.bad_rows[r] = 0;  // the factors of its sums say it
          } else {
            const bool small =
                has_small(cut_row<P>(from, stage.depth, stage.steps, r % kTileBlock, out).least);
            memory.bad_rows[r] = (!stage.first && memory.bad_rows[r] != 0) || small;
          }
        });
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
