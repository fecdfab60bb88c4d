// Streaming softmax attention by tile products of parts. Masks, segments and the merge of their
// states are those of the f32 kernels; a tile is 32 rows, two tiles of sums one below the other.
#pragma once

#include "simd/tiles/tile_block.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

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

/// All tiles against a block of keys. While the scores of one become weights, the next one's
/// scores and the last one's values are multiplied.
template <class S, class Unit>
HEADROOM_INLINE void attend_tile_block(const AttendTask& task, const AttendMemory& memory,
                                       std::int64_t begin, bool bad) {
  TileBlock<S> tiles[2];
  Nothing nothing;
  std::int64_t count = 0;
  for (std::int64_t t = task.tile_begin; t <= task.tile_end; ++t) {
    const int turn = static_cast<int>(count % 2);
    TileBlock<S>& here = tiles[turn];
    TileBlock<S>& before = tiles[1 - turn];
    const bool last = t == task.tile_end;
    if (last) {
      if (count == 0) return;
      // `here` is two tiles back, or none.
      before.start(count > 1 ? here.value_calls() : 1);
      if (count > 1) here.template add_values<Unit>(memory, before);
      before.finish();
      before.template add_values<Unit>(memory, nothing);
      return;
    }
    const TileRows tile = tile_of(task, memory, t);
    const KeyBlock block = see_block(task, tile.rows, begin);
    if (block.first >= block.count) continue;
    if (bad) mark_rows(task, tile, block, memory.skip);
    const TileBlock<S> next(task, tile, block, memory, turn);
    if (count == 0) {
      here = next;
      here.template score<Unit>(memory, nothing);
    } else {
      before.start((count > 1 ? here.value_calls() : 0) + next.score_calls());
      if (count > 1) here.template add_values<Unit>(memory, before);
      here = next;
      here.template score<Unit>(memory, before);
      before.finish();
    }
    ++count;
  }
}

template <class S, class Unit, class B>
HEADROOM_INLINE void attend_tile_segment(const TileAttendTask& whole_task,
                                         const AttendMemory& memory, std::int64_t segment) {
  const AttendTask& task = whole_task.task;
  const std::int64_t end = (segment + 1) * kSegment;
  for (std::int64_t begin = segment * kSegment; begin < end; begin += kKeyBlock) {
    const KeyBlock seen = task_block(task, begin);
    if (seen.first >= seen.count) continue;
    const bool bad_keys = whole_task.key_rows.data != nullptr
                              ? cut_new_keys<S>(whole_task, seen, memory)
                              : cut_keys<S, B>(task, seen, memory);
    const bool bad = cut_values<S, B>(task, seen, bad_keys, memory);
    attend_tile_block<S, Unit>(task, memory, begin, bad);
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

/// Whether some row of a tile may be doubtful: a look at all of them at once.
/// @param sums whether each row has a sum
HEADROOM_INLINE bool may_be_doubtful(const AttendTask& task, const TileRows& tile,
                                     const TileState& state, bool sums) {
  unsigned char bad = 0;
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) bad |= tile.bad[r];
  // Zeros, unless something is infinite or NaN. Of as many chains as an addition has cycles.
  constexpr std::int64_t kChains = 4;
  Vec probes[kChains] = {Vec(0.0F), Vec(0.0F), Vec(0.0F), Vec(0.0F)};
  const std::int64_t values = tile.rows.rows * padded_cols(task);
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= values; i += kChains * kLanes) {
#pragma GCC unroll 4
    for (int p = 0; p < kChains; ++p) {
      probes[p] = multiply_add(load(state.out + i + p * kLanes), Vec(0.0F), probes[p]);
    }
  }
  for (; i < values; i += kLanes) {
    probes[0] = multiply_add(load(state.out + i), Vec(0.0F), probes[0]);
  }
  const Vec probe = (probes[0] + probes[1]) + (probes[2] + probes[3]);
  return !sums || bad != 0 || any_lane((bits_of(probe) & kMagnitude) != 0U);
}

/// Rows that were cut where they lie become the panels that f32 reads.
[[gnu::noinline]] inline void pack_for_exact(const TileAttendTask& whole_task) {
  const AttendTask& task = whole_task.task;
  const InputRows& rows = whole_task.key_rows;
  whole_task.f32->stored(whole_task.dtype)
      .pack_keys({rows.data, rows.dtype, rows.stride}, 0, task.key_count, task.head_dim,
                 whole_task.panels);
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

/// Of the rows from `row` on, as many as a tile has.
HEADROOM_INLINE void prefetch_output(const AttendTask& task, std::int64_t row) {
  const std::int64_t end = row + kTileBlock < task.rows ? row + kTileBlock : task.rows;
  for (; row < end; ++row) {
    const RowPlace at = place_of(task, row);
    const std::int64_t place = at.token * task.out_stride + at.head * task.out_head_stride;
    with_rows_of(
        {task.out, task.out_dtype, 0}, [&](const auto* first) __attribute__((always_inline)) {
          for (std::int64_t c = 0; c < task.value_dim; c += kChunk) {
            __builtin_prefetch(first + place + c, 1, 3);
          }
        });
  }
}

/// Whether a row of the tile sees a key of the segment, so that a block begins its state.
HEADROOM_INLINE bool sees_segment(const AttendTask& task, const Tile& rows, std::int64_t segment) {
  const std::int64_t first = seen_keys(task, rows.row).begin;
  const std::int64_t end = seen_keys(task, rows.row + rows.rows - 1).end;
  return first < end && first < (segment + 1) * kSegment && end > segment * kSegment;
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
  prefetch_output(task, tile_begin(task.rows, task.tiles, task.tile_begin));
  {
    [[maybe_unused]] const typename Unit::Session session;
    for (std::int64_t s = segments.begin; s < segments.end; ++s) {
      for_tiles([&](const TileRows& tile) {
        if (!sees_segment(task, tile.rows, s)) clear_state(task, tile.rows);
      });
      if (whole_task.dtype == Dtype::f32) {
        attend_tile_segment<SchemeOf<P, float>, Unit, float>(whole_task, memory, s);
      } else {
        attend_tile_segment<SchemeOf<P, Half>, Unit, Half>(whole_task, memory, s);
      }
      if (single) break;
      for_tiles([&](const TileRows& tile) { merge_segment(task, tile.rows, tile.all, s); });
    }
  }
  bool packed = whole_task.key_rows.data == nullptr;
  for_tiles([&](const TileRows& tile) {
    prefetch_output(task, tile.rows.row + tile.rows.rows);
    const TileState& state = single ? tile.rows.state : tile.all;
    const bool sums = finish_tile(task, tile.rows, state);
    if (!may_be_doubtful(task, tile, state, sums)) return;
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      if (tile.bad[r] == 0 && !is_doubtful_row(task, state, r)) continue;
      if (!packed) pack_for_exact(whole_task);
      packed = true;
      attend_exactly(whole_task, tile.rows.row + r, memory.f32);
    }
  });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
