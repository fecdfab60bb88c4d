// Streaming softmax attention by tile products of parts. Masks, segments and the merge of their
// states are those of the f32 kernels; a tile is 32 rows, two tiles of sums one below the other.
#pragma once

#include "simd/tiles/attend_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE float* score_row(const AttendMemory& memory, std::int64_t r) {
  return memory.scores + r / kTileSide * kTileSide * kKeyBlock + r % kTileSide * kChunk;
}

/// The keys of a block that a tile's products take: whole 32s.
struct KeySteps {
  std::int64_t begin, end;
};
HEADROOM_INLINE KeySteps steps_of(const KeyBlock& block) {
  return {block.first / kTileDepth * kTileDepth, whole(block.count, kTileDepth)};
}

/// Scores of the tile; what lies outside the block's 32s is not written.
template <Precision P, class Unit>
HEADROOM_INLINE void score_tile(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                                const AttendMemory& memory) {
  const std::int64_t depth = whole(task.head_dim, kTileDepth);
  const KeySteps keys = steps_of(block);
  Operands of;
  of.a = tile.queries;
  of.steps = depth / kTileDepth;
  of.rows = tile.rows.rows;
  for (std::int64_t k = keys.begin; k < keys.end; k += kTileBlock) {
    of.b = memory.keys + k * depth * Parts<P>::kCount;
    for (int i = 0; i < 4; ++i) {
      of.sums[i / 2][i % 2] =
          memory.scores + i / 2 * kTileSide * kKeyBlock + (k / kTileSide + i % 2) * kSums;
    }
    Unit::template multiply<P>(of);
  }
}

/// What rows must not see becomes -inf, in those vectors of keys that some row does not see.
HEADROOM_INLINE void mask_tile(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               const AttendMemory& memory) {
  const KeySteps keys = steps_of(block);
  if (block.common_begin <= keys.begin && block.common_end >= keys.end) return;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const KeyRange seen = seen_keys(task, rows.row + r);
    float* scores = score_row(memory, r);
    for (std::int64_t k = keys.begin; k < keys.end; k += kLanes) {
      if (all_seen<1>(block, k)) continue;
      float* at = scores + score_at<static_cast<int>(kTileSide)>(k, 0);
      const std::int64_t lane = block.begin + k;
      store(at, only_between(load(at), seen.begin - lane, seen.end - lane));
    }
  }
}

/// As exact as the weights are kept.
template <Precision P>
HEADROOM_INLINE Vec exp2_for(const Vec& x) {
  return exp2_of_degree < P == Precision::bf16 ? 3 : P == Precision::bf16x3 ? 5 : 6 > (x);
}

/// How a tile's sums go on.
struct TileScale {
  alignas(64) float shift[kTileBlock];   ///< -maximum * scale
  alignas(64) float factor[kTileBlock];  ///< of what was summed before
};

/// Merges the maxima of the block into the running ones.
HEADROOM_INLINE void raise_tile(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                                const AttendMemory& memory, TileScale& to) {
  const KeySteps keys = steps_of(block);
  constexpr int kGroup = 4;  // independent chains
  alignas(64) float block_max[kTileBlock];
  for (std::int64_t r = 0; r < rows.rows; r += kGroup) {
    Vec most[kGroup];
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) most[i] = Vec(kMinusInfinity);
    const float* scores = score_row(memory, r);
    for (std::int64_t k = keys.begin; k < keys.end; k += kLanes) {
      const float* at = scores + score_at<static_cast<int>(kTileSide)>(k, 0);
#pragma GCC unroll 4
      for (int i = 0; i < kGroup; ++i) {
        most[i] = max_or_second(most[i], load(at + i * kTileSide));
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) block_max[r + i] = max_lanes(most[i]);
  }
  const Vec scale(task.scale);
  const Vec none(kMinusInfinity);
  for (std::int64_t r = 0; r < rows.rows; r += kLanes) {
    const Vec before = load(rows.state.max + r);
    const Vec here = max_or_second(load(block_max + r), before);
    const Vec factor = exp2((before - here) * scale);
    store(to.factor + r, xsimd::select(here > before, factor, Vec(1.0F)));
    // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
    store(to.shift + r, xsimd::select(here == none, Vec(0.0F), Vec(0.0F) - here * scale));
    store(rows.state.max + r, here);
  }
}

/// A row's scores become weights, are added to its sum, and are cut into parts.
template <Precision P, bool kDropout>
HEADROOM_INLINE void weigh_row(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               std::int64_t r, const TileScale& to, const AttendMemory& memory) {
  constexpr int kCount = Parts<P>::kCount;
  const KeySteps keys = steps_of(block);
  const float* scores = score_row(memory, r);
  std::uint16_t* out = memory.weights + r * kTileDepth;
  const Vec scale(task.scale);
  const Vec shift(to.shift[r]);
  float* sum = rows.state.sum + r * kLanes;
  Vec sums[2] = {load(sum) * Vec(to.factor[r]), Vec(0.0F)};
  for (std::int64_t k = keys.begin; k < keys.end; k += 2 * kLanes) {
    Vec weights[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::int64_t key = k + i * kLanes;
      weights[i] = exp2_for<P>(
          multiply_add(load(scores + score_at<static_cast<int>(kTileSide)>(key, 0)), scale, shift));
      sums[i] += weights[i];
      if (kDropout) weights[i] = weights[i] * load(memory.factors + key);
    }
    TwoHalves parts[kCount];
    cut_neighbours<P>(weights[0], weights[1], parts);
    std::uint16_t* at = out + k / kTileDepth * kCount * kLeftStep + k % kTileDepth;
#pragma GCC unroll 3
    for (int p = 0; p < kCount; ++p) {
      __builtin_memcpy(at + p * kLeftStep, &parts[p], sizeof(parts[p]));
    }
  }
  store(sum, sums[0] + sums[1]);
}

HEADROOM_INLINE void draw_factors(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                  float* factors) {
  const std::uint64_t index =
      dropout_row(task.dropout_head + row % task.group, task.position + row / task.group);
  task.dropout->factors(index, block.begin, block.count, factors);
  for (std::int64_t k = block.count; k % kTileDepth != 0; ++k) factors[k] = 0;
}

template <Precision P>
HEADROOM_INLINE void weigh_tile(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                                const AttendMemory& memory, TileScale& to) {
  mask_tile(task, tile.rows, block, memory);
  raise_tile(task, tile.rows, block, memory, to);
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    if (task.dropout == nullptr) {
      weigh_row<P, false>(task, tile.rows, block, r, to, memory);
    } else {
      draw_factors(task, tile.rows.row + r, block, memory.factors);
      weigh_row<P, true>(task, tile.rows, block, r, to, memory);
    }
  }
  const KeySteps keys = steps_of(block);
  for (std::int64_t r = tile.rows.rows; r < whole(tile.rows.rows, kTileSide); ++r) {
    cut_row<P>(nullptr, 0, (keys.end - keys.begin) / kTileDepth, r,
               memory.weights + keys.begin / kTileDepth * Parts<P>::kCount * kLeftStep);
  }
}

/// Adds the weighted values of a block to the tile's output.
template <Precision P, class Unit>
HEADROOM_INLINE void add_tile_values(const AttendTask& task, const TileRows& tile,
                                     const KeyBlock& block, const TileScale& scale,
                                     const AttendMemory& memory) {
  constexpr int kCount = Parts<P>::kCount;
  const std::int64_t cols = padded_cols(task);
  const KeySteps keys = steps_of(block);
  const std::int64_t step = keys.begin / kTileDepth;
  Operands of;
  of.a = memory.weights + step * kCount * kLeftStep;
  of.rows = tile.rows.rows;
  of.steps = keys.end / kTileDepth - step;
  for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = memory.sums + i * kSums;
  for (std::int64_t c = 0; c < cols; c += kTileBlock) {
    of.b = memory.values + (c * kKeyBlock + step * kRightStep) * kCount;
    Unit::template multiply<P>(of);
    const std::int64_t width = cols - c < kTileBlock ? cols - c : kTileBlock;
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      const Vec factor(scale.factor[r]);
      for (std::int64_t v = 0; v < width; v += kLanes) {
        float* out = tile.rows.state.out + r * cols + c + v;
        const float* more = memory.sums + (r / kTileSide * 2 + v / kTileSide) * kSums +
                            r % kTileSide * kTileSide + v % kTileSide;
        store(out, multiply_add(load(out), factor, load(more)));
      }
    }
  }
}

HEADROOM_INLINE void mark_rows(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                               const unsigned char* skip) {
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    const KeyRange seen = seen_keys(task, tile.rows.row + r);
    const std::int64_t begin = clamp(seen.begin - block.begin, block.first, block.count);
    const std::int64_t end = clamp(seen.end - block.begin, block.first, block.count);
    for (std::int64_t k = begin; k < end; ++k) tile.bad[r] |= skip[k];
  }
}

HEADROOM_INLINE KeyBlock task_block(const AttendTask& task, std::int64_t begin) {
  Tile rows;
  rows.row = tile_begin(task.rows, task.tiles, task.tile_begin);
  rows.rows = tile_begin(task.rows, task.tiles, task.tile_end) - rows.row;
  return see_block(task, rows, begin);
}

template <Precision P, class Unit, class B>
HEADROOM_INLINE void attend_tile_segment(const AttendTask& task, const AttendMemory& memory,
                                         std::int64_t segment) {
  const std::int64_t end = (segment + 1) * kSegment;
  for (std::int64_t begin = segment * kSegment; begin < end; begin += kKeyBlock) {
    const KeyBlock seen = task_block(task, begin);
    if (seen.first >= seen.count) continue;
    cut_keys<P, B>(task, seen, memory);
    const bool bad = cut_values<P, B>(task, seen, memory);
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      const TileRows tile = tile_of(task, memory, t);
      const KeyBlock block = see_block(task, tile.rows, begin);
      if (block.first >= block.count) continue;
      score_tile<P, Unit>(task, tile, block, memory);
      TileScale scale;
      weigh_tile<P>(task, tile, block, memory, scale);
      add_tile_values<P, Unit>(task, tile, block, scale, memory);
      if (bad) mark_rows(task, tile, block, memory.skip);
    }
  }
}

/// Whether a row has no sum, or infinities or NaN, which parts may have made.
HEADROOM_INLINE bool is_doubtful_row(const AttendTask& task, const TileState& state,
                                     std::int64_t r) {
  const float sum = sum_lanes(load(state.sum + r * kLanes));
  if (!(sum > 0 && sum < __builtin_inff())) return true;
  const float* out = state.out + r * padded_cols(task);
  Bits most{};
  for (std::int64_t c = 0; c < padded_cols(task); c += kLanes) {
    const Bits size = bits_of(load(out + c)) & kMagnitude;
    most = size > most ? size : most;
  }
  return any_lane(most >= kInfinityBits);
}

/// One row by the f32 kernels.
HEADROOM_INLINE void attend_exactly(const TileAttendTask& whole_task, std::int64_t row,
                                    float* scratch) {
  AttendTask exact = whole_task.task;
  exact.tiles = exact.rows;
  exact.tile_begin = row;
  exact.tile_end = row + 1;
  exact.scratch = scratch;
  whole_task.f32->stored(whole_task.dtype).attend(exact);
}

template <Precision P, class Unit>
void attend_tiles(const TileAttendTask& whole_task) {
  const AttendTask& task = whole_task.task;
  const AttendMemory memory = memory_of<P>(whole_task);
  const KeyRange segments = seen_segments(task);
  const bool single = segments.end - segments.begin == 1;
  const auto for_tiles = [&](auto&& work) __attribute__((always_inline)) {
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      work(tile_of(task, memory, t));
    }
  };
  for_tiles([&](const TileRows& tile) { cut_queries<P>(task, tile); });
  {
    [[maybe_unused]] const typename Unit::Session session;
    for (std::int64_t s = segments.begin; s < segments.end; ++s) {
      for_tiles([&](const TileRows& tile) { clear_state(task, tile.rows); });
      if (whole_task.dtype == Dtype::f32) {
        attend_tile_segment<P, Unit, float>(task, memory, s);
      } else {
        attend_tile_segment<P, Unit, Half>(task, memory, s);
      }
      if (single) break;
      for_tiles([&](const TileRows& tile) { merge_segment(task, tile.rows, tile.all, s); });
    }
  }
  for_tiles([&](const TileRows& tile) {
    const TileState& state = single ? tile.rows.state : tile.all;
    finish_tile(task, tile.rows, state);
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      if (tile.bad[r] == 0 && !is_doubtful_row(task, state, r)) continue;
      attend_exactly(whole_task, tile.rows.row + r, memory.f32);
    }
  });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
