// The memory of an attention task, and its queries, keys and values cut into parts.
#pragma once

#include "simd/kernels/attend_kernel.hpp"
#include "simd/tiles/cut.hpp"
#include "simd/tiles/key_rows.hpp"
#include "simd/tiles/operands.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// One attention tile and what belongs to it.
struct TileRows {
  Tile rows;                         ///< its state is that of the present segment
  std::uint16_t* queries = nullptr;  ///< two left tiles of the head's depth
  unsigned char* bad;                ///< rows that f32 has to do
  TileState all;                     ///< over all segments so far
};

struct AttendMemory {
  TileAttendScratch at;
  std::uint16_t* keys;
  std::uint16_t* values;
  std::uint16_t* weights[2];  ///< left tiles, a step for 32 keys; of two tiles in turn, as scores
  float* scores[2];           ///< of 16 rows in chunks, then of the next 16
  float* sums;
  float* factors;
  unsigned char* skip;  ///< keys whose numbers parts cannot carry
  float* f32;
};

template <Precision P>
HEADROOM_INLINE AttendMemory memory_of(const TileAttendTask& whole_task) {
  const AttendTask& task = whole_task.task;
  AttendMemory memory;
  memory.at = tile_attend_scratch(P, whole_task.dtype, whole_task.f32->tile_rows, kLanes,
                                  task.head_dim, task.value_dim, task.tile_end - task.tile_begin);
  const auto halves = [&](std::int64_t begin) __attribute__((always_inline)) {
    return reinterpret_cast<std::uint16_t*>(task.scratch + begin);
  };
  memory.keys = halves(memory.at.keys);
  memory.values = halves(memory.at.values);
  for (int i = 0; i < 2; ++i) {
    memory.weights[i] = halves(memory.at.weights) + i * Parts<P>::kCount * kTileBlock * kKeyBlock;
    memory.scores[i] = task.scratch + memory.at.scores + i * kTileBlock * kKeyBlock;
  }
  memory.sums = task.scratch + memory.at.sums;
  memory.factors = task.scratch + memory.at.factors;
  memory.skip = reinterpret_cast<unsigned char*>(task.scratch + memory.at.skip);
  memory.f32 = task.scratch + memory.at.f32;
  return memory;
}

HEADROOM_INLINE TileState tile_state(const AttendTask& task, float* memory) {
  TileState state;
  state.out = memory;
  state.sum = state.out + kTileBlock * padded_cols(task);
  state.max = state.sum + kTileBlock * kLanes;
  return state;
}

HEADROOM_INLINE TileRows tile_of(const AttendTask& task, const AttendMemory& memory,
                                 std::int64_t t) {
  float* begin = task.scratch + (t - task.tile_begin) * memory.at.tile_floats;
  TileRows tile;
  tile.rows.row = tile_begin(task.rows, task.tiles, t);
  tile.rows.rows = tile_begin(task.rows, task.tiles, t + 1) - tile.rows.row;
  tile.queries = reinterpret_cast<std::uint16_t*>(begin);
  float* flags = begin + memory.at.query_floats;
  tile.bad = reinterpret_cast<unsigned char*>(flags);
  float* states = flags + kTileBlock / 2;
  tile.rows.state = tile_state(task, states);
  tile.all = tile_state(task, states + memory.at.state_floats);
  return tile;
}

/// Of the row that is cut 16 rows later.
HEADROOM_INLINE void prefetch_query(const AttendTask& task, std::int64_t row) {
  if (row + 16 >= task.rows) return;
  with_query(
      task, row + 16, [&](const auto* from) __attribute__((always_inline)) {
        for (std::int64_t c = 0; c < task.head_dim; c += kChunk) {
          __builtin_prefetch(from + c, 0, 3);
        }
      });
}

/// Rows whose queries parts cannot carry are marked; each is looked at only if there is one.
template <Precision P>
HEADROOM_INLINE void cut_queries(const AttendTask& task, const TileRows& tile) {
  const std::int64_t steps = whole(task.head_dim, kTileDepth) / kTileDepth;
  Sizes all;
  for (std::int64_t r = 0; r < kTileBlock; ++r) {
    const std::int64_t row = tile.rows.row + r;
    tile.bad[r] = 0;
    if (r >= tile.rows.rows) {
      const float* none = nullptr;
      cut_row<P>(none, task.head_dim, steps, r, tile.queries);
      continue;
    }
    prefetch_query(task, row);
    with_query(
        task, row, [&](const auto* from) __attribute__((always_inline)) {
          all.see(cut_row<P>(from, task.head_dim, steps, r, tile.queries));
        });
  }
  if (!all.has_bad()) return;
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    with_query(
        task, tile.rows.row + r, [&](const auto* from) __attribute__((always_inline)) {
          tile.bad[r] = has_bad(from, task.head_dim);
        });
  }
}

/// The keys of a block, 32 after the other; each as deep as a head. Those that parts cannot carry
/// are marked; so may be what lies beyond the block among its 32s.
/// @return whether any is marked
template <class S, class B>
HEADROOM_INLINE bool cut_keys(const AttendTask& task, const KeyBlock& block,
                              const AttendMemory& memory) {
  const std::int64_t depth = whole(task.head_dim, kTileDepth);
  bool any_bad = false;
  for (std::int64_t k = block.first / kTileBlock * kTileBlock; k < block.count; k += kTileBlock) {
    Columns<B> columns[kBlockVectors];
    for (int v = 0; v < kBlockVectors; ++v) {
      const std::int64_t key = block.begin + k + v * kLanes;
      if (k + v * kLanes >= block.count) continue;
      columns[v] = {
          static_cast<const B*>(task.keys) + key / kPanel * kPanel * task.head_dim + key % kPanel,
          kPanel};
    }
    Sizes sizes[kBlockVectors];
    cut_columns<S>(columns, task.head_dim, depth / kTileDepth, nullptr,
                   memory.keys + k * depth * S::kRight, sizes);
    for (int v = 0; v < kBlockVectors; ++v) {
      const Bits bad = sizes[v].bad_lanes();
      any_bad = any_bad || any_lane(bad);
      for (int i = 0; i < kLanes; ++i) memory.skip[k + v * kLanes + i] = bad[i] != 0;
    }
  }
  return any_bad;
}

/// The same of keys that are in no panels yet.
template <class S>
[[gnu::noinline]] bool cut_new_keys(const TileAttendTask& whole_task, const KeyBlock& block,
                                    const AttendMemory& memory) {
  const AttendTask& task = whole_task.task;
  const InputRows rows = whole_task.key_rows.from(block.begin);
  bool any_bad = false;
  with_input(
      rows, [&](const auto* keys) __attribute__((always_inline)) {
        any_bad = cut_key_rows<S>(keys, rows.stride, task.key_count - block.begin, task.head_dim,
                                  block.first / kTileBlock * kTileBlock, block.count, memory.keys,
                                  memory.skip);
      });
  return any_bad;
}

/// The values of a block, 32 columns after the other; each as deep as the block.
/// @param skip keys that count as zeros
/// @return whether parts cannot carry one of the others
template <class S, class B>
HEADROOM_INLINE bool cut_values_but(const AttendTask& task, const KeyBlock& block,
                                    const unsigned char* skip, const AttendMemory& memory) {
  const B* values = static_cast<const B*>(task.values) + block.begin * task.value_stride;
  const std::int64_t cols = padded_cols(task);
  const std::int64_t steps = (block.count + kTileDepth - 1) / kTileDepth;
  Sizes sizes[kBlockVectors];
  for (std::int64_t c = 0; c < cols; c += kTileBlock) {
    Columns<B> columns[kBlockVectors];
    for (int v = 0; v < kBlockVectors; ++v) {
      if (c + v * kLanes < cols) columns[v] = {values + c + v * kLanes, task.value_stride};
    }
    cut_columns<S, true>(columns, block.count, steps, skip,
                         memory.values + c * kKeyBlock * S::kRight, sizes);
  }
  bool bad = false;
  for (const Sizes& each : sizes) bad = bad || each.has_bad();
  return bad;
}

/// The same. Those of a bad key and bad ones count as zeros here, and rows that see them are
/// marked.
/// @param bad_keys whether there is a bad key
/// @return whether there are any
template <class S, class B>
HEADROOM_INLINE bool cut_values(const AttendTask& task, const KeyBlock& block, bool bad_keys,
                                const AttendMemory& memory) {
  // A vector beyond the head's columns may hold anything; it only makes a look at each key due.
  if (block.first == 0 && !bad_keys && !cut_values_but<S, B>(task, block, nullptr, memory))
    return false;
  const B* values = static_cast<const B*>(task.values) + block.begin * task.value_stride;
  bool any_bad = false;
  for (std::int64_t k = 0; k < block.count; ++k) {
    memory.skip[k] = k < block.first || memory.skip[k] != 0 ||
                     has_bad(values + k * task.value_stride, task.value_dim);
    any_bad = any_bad || (k >= block.first && memory.skip[k] != 0);
  }
  cut_values_but<S, B>(task, block, memory.skip, memory);
  return any_bad;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
