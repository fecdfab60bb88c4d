// Streaming softmax attention by tile products of parts. Masks, segments and the merge of their
// states are those of the f32 kernels; a tile is 32 rows, two tiles of sums one below the other.
#pragma once

#include "simd/tiles/attend_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE float* score_row(const AttendMemory& memory, std::int64_t r) {
  return memory.scores + r / kTileSide * kTileSide * kKeyBlock + r % kTileSide * kChunk;
}

/// Scores of the tile; what lies outside the block's 32s is not written.
template <Precision P, class Unit>
HEADROOM_INLINE void score_tile(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                                const AttendMemory& memory) {
  const std::int64_t depth = whole(task.head_dim, kTileDepth);
  Operands of;
  of.a = tile.queries;
  of.steps = depth / kTileDepth;
  of.rows = tile.rows.rows;
  for (std::int64_t k = block.first / kTileBlock * kTileBlock; k < block.count; k += kTileBlock) {
    of.b = memory.keys + k * depth * Parts<P>::kCount;
    for (int i = 0; i < 4; ++i) {
      of.sums[i / 2][i % 2] =
          memory.scores + i / 2 * kTileSide * kKeyBlock + (k / kTileSide + i % 2) * kSums;
    }
    Unit::template multiply<P>(of);
  }
}

/// Masks a row's scores in place. @return their maximum
HEADROOM_INLINE float mask_row(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               std::int64_t r, float* scores) {
  Vec row_max(kMinusInfinity);
  const KeyRange seen = seen_keys(task, rows.row + r);
  for (std::int64_t k = block.first / kLanes * kLanes; k < block.count; k += kLanes) {
    float* at = scores + score_at<static_cast<int>(kTileSide)>(k, 0);
    Vec found = load(at);
    if (!all_seen<1>(block, k)) {
      const std::int64_t lane = block.begin + k;
      found = only_between(found, seen.begin - lane, seen.end - lane);
      store(at, found);
    }
    row_max = max_or_second(row_max, found);
  }
  return max_lanes(row_max);
}

/// A row's scores become weights, are added to its sum, and are cut into parts.
template <Precision P>
HEADROOM_INLINE void weigh_row(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               std::int64_t r, float* scores, const AttendMemory& memory) {
  const Vec scale(task.scale);
  // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
  const float max = rows.state.max[r] == kMinusInfinity ? 0.0F : rows.state.max[r];
  const Vec shift(-max * task.scale);
  Vec sum = load(rows.state.sum + r * kLanes);
  if (task.dropout != nullptr) {
    const std::int64_t row = rows.row + r;
    const std::uint64_t index =
        dropout_row(task.dropout_head + row % task.group, task.position + row / task.group);
    task.dropout->factors(index, block.begin, block.count, memory.factors);
    for (std::int64_t k = block.count; k % kLanes != 0; ++k) memory.factors[k] = 0;
  }
  constexpr int kCount = Parts<P>::kCount;
  const std::int64_t first = block.first / kLanes * kLanes;
  const auto weight_of = [&](std::int64_t k) __attribute__((always_inline)) {
    Vec weight(0.0F);
    if (k < first || k >= block.count) return weight;
    weight = exp2(
        multiply_add(load(scores + score_at<static_cast<int>(kTileSide)>(k, 0)), scale, shift));
    sum += weight;
    return task.dropout == nullptr ? weight : weight * load(memory.factors + k);
  };
  for (std::int64_t k = block.first / kTileDepth * kTileDepth; k < whole(block.count, kTileDepth);
       k += 2 * kLanes) {
    const Vec lower = weight_of(k);
    TwoHalves parts[kCount];
    cut_neighbours<P>(lower, weight_of(k + kLanes), parts);
    std::uint16_t* at =
        memory.weights + k / kTileDepth * kCount * kLeftStep + r * kTileDepth + k % kTileDepth;
#pragma GCC unroll 3
    for (int p = 0; p < kCount; ++p) {
      __builtin_memcpy(at + p * kLeftStep, &parts[p], sizeof(parts[p]));
    }
  }
  store(rows.state.sum + r * kLanes, sum);
}

template <Precision P>
HEADROOM_INLINE void weigh_tile(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                                const AttendMemory& memory) {
  const std::int64_t cols = padded_cols(task);
  float block_max[kTileBlock];
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    block_max[r] = mask_row(task, tile.rows, block, r, score_row(memory, r));
  }
  raise_maximum(task.scale, tile.rows.rows, tile.rows.state, block_max, cols);
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    weigh_row<P>(task, tile.rows, block, r, score_row(memory, r), memory);
  }
  for (std::int64_t r = tile.rows.rows; r < whole(tile.rows.rows, kTileSide); ++r) {
    cut_row<P>(nullptr, 0, whole(block.count, kTileDepth) / kTileDepth, r, memory.weights);
  }
}

/// Adds the weighted values of a block to the tile's output.
template <Precision P, class Unit>
HEADROOM_INLINE void add_tile_values(const AttendTask& task, const TileRows& tile,
                                     const KeyBlock& block, const AttendMemory& memory) {
  const std::int64_t cols = padded_cols(task);
  const std::int64_t step = block.first / kTileDepth;
  Operands of;
  of.a = memory.weights + step * Parts<P>::kCount * kLeftStep;
  of.rows = tile.rows.rows;
  of.steps = (block.count + kTileDepth - 1) / kTileDepth - step;
  for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = memory.sums + i * kSums;
  for (std::int64_t c = 0; c < cols; c += kTileBlock) {
    of.b = memory.values + (c * kKeyBlock + step * kRightStep) * Parts<P>::kCount;
    Unit::template multiply<P>(of);
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      for (std::int64_t v = 0; v < kTileBlock && c + v < cols; v += kLanes) {
        float* out = tile.rows.state.out + r * cols + c + v;
        const float* more = memory.sums + (r / kTileSide * 2 + v / kTileSide) * kSums +
                            r % kTileSide * kTileSide + v % kTileSide;
        store(out, load(out) + load(more));
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
      weigh_tile<P>(task, tile, block, memory);
      add_tile_values<P, Unit>(task, tile, block, memory);
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
