// Streaming softmax attention: tiles of rows against blocks of keys, with a running maximum and sum
// (Milakov & Gimelshein 2018; Dao et al., FlashAttention, 2022). No T x T matrix exists.
//
// Keys are cut into segments by their position. Each is summed from nothing and then merged into
// what came before it, always in this order, so that a row has the same bits whether one thread
// walks all segments or several threads one each.
#pragma once

#include <numbers>

#include "simd/kernels/attend_block.hpp"
#include "simd/kernels/attend_rows.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE TileState state_at(const AttendTask& task, float* memory) {
  TileState state;
  state.out = memory;
  state.sum = state.out + kTileRows * padded_cols(task);
  state.max = state.sum + kTileRows * kLanes;
  return state;
}

HEADROOM_INLINE void clear_state(const AttendTask& task, const Tile& tile) {
  const std::int64_t cols = padded_cols(task);
  for (std::int64_t i = 0; i < tile.rows * cols; ++i) tile.state.out[i] = 0.0F;
  for (std::int64_t i = 0; i < tile.rows * kLanes; ++i) tile.state.sum[i] = 0.0F;
  for (std::int64_t r = 0; r < tile.rows; ++r) tile.state.max[r] = kMinusInfinity;
}

/// Of one row: `all` becomes what it is over its keys and the segment's.
HEADROOM_INLINE void merge_row(const AttendTask& task, const TileState& all,
                               const TileState& segment, std::int64_t r) {
  const std::int64_t cols = padded_cols(task);
  const float before = all.max[r];
  const float here = segment.max[r];
  // A side without a maximum has sums of 0 or of NaN, which must stay what they are.
  const float largest = here > before ? here : before;
  const auto share = [&](float max) __attribute__((always_inline)) {
    return Vec(max == largest || max == kMinusInfinity ? 1.0F
                                                       : exp2_scalar((max - largest) * task.scale));
  };
  const Vec of_before = share(before);
  const Vec of_here = share(here);
  all.max[r] = largest;
  float* sum = all.sum + r * kLanes;
  store(sum, multiply_add(load(segment.sum + r * kLanes), of_here, load(sum) * of_before));
  float* out = all.out + r * cols;
  const float* more = segment.out + r * cols;
  for (std::int64_t c = 0; c < cols; c += kLanes) {
    store(out + c, multiply_add(load(more + c), of_here, load(out + c) * of_before));
  }
}

/// Merges a segment into what came before it, for the rows that see keys of it.
HEADROOM_INLINE void merge_segment(const AttendTask& task, const Tile& tile, const TileState& all,
                                   std::int64_t segment) {
  const std::int64_t cols = padded_cols(task);
  const std::int64_t begin = segment * kSegment;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const KeyRange seen = seen_keys(task, tile.row + r);
    if (seen.end <= begin || seen.begin >= begin + kSegment) continue;
    if (seen.begin < begin) {
      merge_row(task, all, tile.state, r);
      continue;
    }
    for (std::int64_t i = r * cols; i < (r + 1) * cols; ++i) all.out[i] = tile.state.out[i];
    for (std::int64_t i = r * kLanes; i < (r + 1) * kLanes; ++i) all.sum[i] = tile.state.sum[i];
    all.max[r] = tile.state.max[r];
  }
}

/// What a row's output is multiplied by, where its sum has the logit of a sink as well. Of the two
/// exponentials the smaller one is taken, so that none overflows.
HEADROOM_INLINE float beside_sink(const AttendTask& task, std::int64_t head, float max, float sum) {
  // In a unit in which neither side is infinite.
  const float sink = task.sinks[head] * (std::numbers::log2e_v<float> / kRuleUnit);
  const float distance = (sink - max * (task.scale / kRuleUnit)) * kRuleUnit;
  if (distance <= 0) return 1.0F / (sum + exp2_scalar(distance));
  const float less = exp2_scalar(-distance);
  return less / (sum * less + 1.0F);
}

/// Divides output rows by their sums and writes them to the destination.
/// @return whether each sum is above 0 and finite
HEADROOM_INLINE bool finish_tile(const AttendTask& task, const Tile& tile, const TileState& state) {
  const std::int64_t cols = padded_cols(task);
  const std::int64_t width = task.value_dim;
  bool sums = true;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const RowPlace at = place_of(task, tile.row + r);
    const float sum = sum_lanes(load(state.sum + r * kLanes));
    sums = sums && sum > 0 && sum < __builtin_inff();
    const bool hidden = task.mask.any() && state.max[r] == kMinusInfinity;
    const Vec factor(hidden                  ? 0.0F
                     : task.sinks != nullptr ? beside_sink(task, at.head, state.max[r], sum)
                                             : 1.0F / sum);
    const float* from = state.out + r * cols;
    const std::int64_t place = at.token * task.out_stride + at.head * task.out_head_stride;
    if (task.out_dtype == Dtype::f32) {
      write_row(from, factor, width, static_cast<float*>(task.out) + place);
    } else {
      write_row(from, factor, width, static_cast<Half*>(task.out) + place);
    }
  }
  return sums;
}

/// The memory of a task, tile by tile: queries, state of a segment, state of all before it.
struct TaskMemory {
  float* scores;
  float* factors;
  float* tiles;
  std::int64_t tile_floats;
  std::int64_t query_floats;
  std::int64_t state_floats;
};

HEADROOM_INLINE TaskMemory memory_of(const AttendTask& task) {
  TaskMemory memory;
  memory.query_floats = kTileRows * padded_channels(task.head_dim);
  memory.state_floats = attend_state_floats(kTileRows, kLanes, task.value_dim);
  memory.tile_floats = memory.query_floats + 2 * memory.state_floats;
  memory.scores = task.scratch;
  memory.factors = memory.scores + kTileRows * kKeyBlock;
  memory.tiles = memory.factors + kKeyBlock;
  return memory;
}

HEADROOM_INLINE Tile start_tile(const AttendTask& task, const TaskMemory& memory, std::int64_t t) {
  Tile tile;
  tile.row = tile_begin(task.rows, task.tiles, t);
  tile.rows = tile_begin(task.rows, task.tiles, t + 1) - tile.row;
  tile.queries = memory.tiles + (t - task.tile_begin) * memory.tile_floats;
  tile.state = state_at(task, tile.queries + memory.query_floats);
  if (task.states != nullptr) {
    const std::int64_t place = task.segment * task.tiles + t;
    tile.state = state_at(task, task.states + place * memory.state_floats);
  }
  return tile;
}

/// @param i of the task's tiles
HEADROOM_INLINE TileState state_of_all(const AttendTask& task, const TaskMemory& memory,
                                       std::int64_t i) {
  return state_at(
      task, memory.tiles + i * memory.tile_floats + memory.query_floats + memory.state_floats);
}

HEADROOM_INLINE void pack_queries(const AttendTask& task, const Tile& tile) {
  if (task.group == 1 && task.q_dtype == Dtype::f32) {
    pack_rows(static_cast<const float*>(task.q) + tile.row * task.q_stride, task.q_stride,
              tile.rows, task.head_dim, tile.queries);
    return;
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    with_query(
        task, tile.row + r, [&](const auto* from) __attribute__((always_inline)) {
          pack_query(from, task.head_dim, tile.rows, tile.queries + r * kChunk);
        });
  }
}

/// What a tile prefetches over a block of keys: at its last one where its output goes, before that
/// the queries of the next tile, if those are still to be packed.
/// @param next null if there is none
HEADROOM_INLINE PrefetchRows asked_by(const AttendTask& task, const Tile& tile,
                                      const KeyBlock& block, const Tile* next) {
  PrefetchRows prefetch;
  if (!task.prefetches || task.group != 1) return prefetch;
  if (task.q_dtype != Dtype::f32 || task.out_dtype != Dtype::f32) return prefetch;
  if (block.count < kKeyBlock || block.begin + kKeyBlock >= task.key_count) {
    prefetch.next = static_cast<const float*>(task.out) + tile.row * task.out_stride;
    prefetch.stride = task.out_stride;
    prefetch.rows = tile.rows;
    prefetch.width = task.value_dim;
    prefetch.to_write = true;
  } else if (next != nullptr) {
    prefetch.next = static_cast<const float*>(task.q) + next->row * task.q_stride;
    prefetch.stride = task.q_stride;
    prefetch.rows = next->rows;
    prefetch.width = task.head_dim;
  }
  return prefetch;
}

/// All tiles of the task process a block of keys before the next block, so that all but the first
/// tile read its keys and values from the L2.
/// @param first of the task's segments, in whose first block queries are packed
/// @param turned of a task whose keys are scored as they lie
template <class B>
HEADROOM_INLINE void attend_segment(AttendTask& task, const TaskMemory& memory,
                                    const TurnedRows& turned, const Tile* tiles,
                                    std::int64_t segment, bool first) {
  const std::int64_t count = task.tile_end - task.tile_begin;
  const std::int64_t end = (segment + 1) * kSegment;
  NextRows next_rows;
  for (std::int64_t begin = segment * kSegment; begin < end; begin += kKeyBlock) {
    const bool pack = first && begin == segment * kSegment;
    if constexpr (sizeof(B) == sizeof(float)) {
      if (task.new_keys.data != nullptr && begin < task.key_count) {
        if (turned.width == 0) pack_block(task, begin);
        next_rows = rows_after(task, begin);
        task.next_rows = next_rows.begin < next_rows.end ? &next_rows : nullptr;
        if (turned.width > 0) score_turned(task, turned, begin);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (pack && turned.width == 0) pack_queries(task, tiles[i]);
      const KeyBlock block = see_block(task, tiles[i], begin);
      if (block.first >= block.count) continue;
      const PrefetchRows prefetch =
          asked_by(task, tiles[i], block, pack && i + 1 < count ? tiles + i + 1 : nullptr);
      with_rows(
          tiles[i].rows, [&]<int MR>() __attribute__((always_inline)) {
            attend_block<B, MR>(task, tiles[i], block, memory.scores, memory.factors, prefetch);
          });
    }
  }
  task.next_rows = nullptr;
}

/// The segments that some row of the task sees.
HEADROOM_INLINE KeyRange seen_segments(const AttendTask& task) {
  const std::int64_t first = tile_begin(task.rows, task.tiles, task.tile_begin);
  const std::int64_t last = tile_begin(task.rows, task.tiles, task.tile_end) - 1;
  return {seen_keys(task, first).begin / kSegment, (seen_keys(task, last).end - 1) / kSegment + 1};
}

template <class B>
void attend(AttendTask& task) {
  const TaskMemory memory = memory_of(task);
  const bool alone = task.states != nullptr;
  const KeyRange all = seen_segments(task);
  const KeyRange segments = alone ? KeyRange{task.segment, task.segment + 1} : all;
  const bool single = segments.end - segments.begin == 1;
  const std::int64_t count = task.tile_end - task.tile_begin;
  // Where a tile begins is a division, so it is asked once.
  Tile tiles[kTilesPerTask];
  for (std::int64_t i = 0; i < count; ++i) {
    tiles[i] = start_tile(task, memory, task.tile_begin + i);
  }
  const TurnedRows turned = turn_queries(task, tiles, count);
  for (std::int64_t s = segments.begin; s < segments.end; ++s) {
    for (std::int64_t i = 0; i < count; ++i) clear_state(task, tiles[i]);
    attend_segment<B>(task, memory, turned, tiles, s, s == segments.begin);
    if (single) break;
    for (std::int64_t i = 0; i < count; ++i) {
      merge_segment(task, tiles[i], state_of_all(task, memory, i), s);
    }
  }
  if (alone) return;
  for (std::int64_t i = 0; i < count; ++i) {
    finish_tile(task, tiles[i], single ? tiles[i].state : state_of_all(task, memory, i));
  }
}

inline void merge_segments(const AttendTask& task) {
  const TaskMemory memory = memory_of(task);
  const KeyRange segments = seen_segments(task);
  const TileState all = state_of_all(task, memory, 0);
  AttendTask part = task;
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    for (part.segment = segments.begin; part.segment < segments.end; ++part.segment) {
      merge_segment(part, start_tile(part, memory, t), all, part.segment);
    }
    finish_tile(task, start_tile(task, memory, t), all);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
