// Scores of the rows of several tiles against keys as they lie: each value of a key is multiplied
// with a vector of queries, one of each row. Nothing is transposed but the scores, and the L2 holds
// each key once. A score is the chain that it is over packed keys.
#pragma once

#include "simd/kernels/attend_rows.hpp"
#include "simd/kernels/attend_scores.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// What a task has in the place of packed keys: its queries and the scores of a block.
struct TurnedRows {
  std::int64_t width = 0;    ///< floats from one value of the queries to the next, whole vectors
  float* queries = nullptr;  ///< `head_dim x width`
  float* scores = nullptr;   ///< key by key, `width` for each
};

/// For rows that fill their vectors, and not too many: beside more rows packing costs little. None
/// where keys are packed.
HEADROOM_INLINE TurnedRows turned_rows(const AttendTask& task, std::int64_t rows) {
  constexpr std::int64_t kMostRows = 32;
  const std::int64_t width = (rows + kLanes - 1) / kLanes * kLanes;
  const std::int64_t floats = width * (task.head_dim + kKeyBlock + kTileRows) + kLanes;
  const bool in_place = task.new_keys.data != nullptr && task.new_keys.dtype == Dtype::f32 &&
                        padded_cols(task) == task.value_dim;
  if (!in_place || rows * 8 < width * 7 || rows > kMostRows || floats > kKeyBlock * task.head_dim) {
    return {};
  }
  return {width, task.room, task.room + width * task.head_dim};
}

/// Queries of all tiles of the task, which learn where their scores will be.
HEADROOM_INLINE TurnedRows turn_queries(const AttendTask& task, Tile* tiles, std::int64_t count) {
  const std::int64_t first = tiles[0].row;
  const std::int64_t end = tiles[count - 1].row + tiles[count - 1].rows;
  const TurnedRows turned = turned_rows(task, end - first);
  if (turned.width == 0) return turned;
  for (std::int64_t row = first; row < first + turned.width; ++row) {
    float* to = turned.queries + (row - first);
    if (row >= end) {
      for (std::int64_t c = 0; c < task.head_dim; ++c) to[c * turned.width] = 0;
      continue;
    }
    with_query(
        task, row, [&](const auto* from) __attribute__((always_inline)) {
          for (std::int64_t c = 0; c < task.head_dim; ++c)
            to[c * turned.width] = load_one(from + c);
        });
  }
  for (std::int64_t i = 0; i < count; ++i) {
    tiles[i].found = turned.scores + (tiles[i].row - first);
    tiles[i].found_stride = turned.width;
  }
  return turned;
}

/// Scores of `kTileRows` keys for VECS vectors of rows.
/// @param queries, to of the first of them
template <int VECS, class Prefetcher>
HEADROOM_INLINE void score_lying(const float* const (&keys)[kTileRows], std::int64_t head_dim,
                                 const float* queries, std::int64_t width, float* to,
                                 Prefetcher prefetcher) {
  Vec sums[kTileRows][VECS];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < VECS; ++v) sums[i][v] = Vec(0.0F);
  }
  const auto step = [&](std::int64_t c) __attribute__((always_inline)) {
    Vec q[VECS];
#pragma GCC unroll 2
    for (int v = 0; v < VECS; ++v) q[v] = load(queries + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      const Vec key(keys[i][c]);
#pragma GCC unroll 2
      for (int v = 0; v < VECS; ++v) sums[i][v] = multiply_add(key, q[v], sums[i][v]);
    }
    queries += width;
  };
  std::int64_t c = 0;
  for (; c + kChunk <= head_dim; c += kChunk) {
    prefetcher(c);
#pragma GCC unroll 16
    for (int i = 0; i < kChunk; ++i) step(c + i);
  }
  for (; c < head_dim; ++c) step(c);
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < VECS; ++v) store(to + i * width + v * kLanes, sums[i][v]);
  }
}

template <class Prefetcher>
HEADROOM_INLINE void score_lying_block(const AttendTask& task, const TurnedRows& turned,
                                       std::int64_t begin, Prefetcher prefetcher) {
  const auto* all = static_cast<const float*>(task.new_keys.data);
  const std::int64_t last = task.key_count - 1;
  const std::int64_t count = clamp(task.key_count - begin, 0, kKeyBlock);
  for (std::int64_t k = 0; k < count; k += kTileRows) {
    const float* keys[kTileRows];
    for (int i = 0; i < kTileRows; ++i) {
      const std::int64_t key = begin + k + i;
      keys[i] = all + (key < last ? key : last) * task.new_keys.stride;
    }
    std::int64_t row = 0;
    const auto score = [&]<int VECS>() __attribute__((always_inline)) {
      score_lying<VECS>(keys, task.head_dim, turned.queries + row, turned.width,
                        turned.scores + k * turned.width + row, prefetcher);
      row += VECS * kLanes;
    };
    while (row + 2 * kLanes <= turned.width) score.template operator()<2>();
    if (row < turned.width) score.template operator()<1>();
  }
}

/// Of all keys from `begin` on, a block.
[[gnu::noinline]] inline void score_turned(AttendTask& task, const TurnedRows& turned,
                                           std::int64_t begin) {
  if (task.next_rows != nullptr) {
    score_lying_block(task, turned, begin, NextRowsPrefetcher{task.next_rows});
  } else {
    score_lying_block(task, turned, begin, NoPrefetcher());
  }
  task.values = static_cast<const float*>(task.new_values.data) + begin * task.new_values.stride;
  task.value_stride = task.new_values.stride;
}

/// A vector of rows from `first` on, or what is left of them, at a vector of keys.
HEADROOM_INLINE void take_rows(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                               std::int64_t k, std::int64_t first, bool all, float* to,
                               Vec* row_max) {
  Vec found[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    found[i] = load(tile.found + (k + i) * tile.found_stride + first);
  }
  transpose<kLanes / 2>(found);
  const std::int64_t rows = tile.rows - first < kLanes ? tile.rows - first : kLanes;
  with_additions(
      task, tile, block, all, [&](const auto& additions) __attribute__((always_inline)) {
        for (std::int64_t r = 0; r < rows; ++r) {
          found[r] = additions.changed(found[r], first + r, k);
        }
      });
  for (std::int64_t r = 0; r < rows; ++r) {
    store(to + (first + r) * kChunk, found[r]);
    if (all) row_max[first + r] = max_or_second(row_max[first + r], found[r]);
  }
}

/// As `score_block`, of scores that are there already.
[[gnu::noinline]] inline void take_scores(const AttendTask& task, const Tile& tile,
                                          const KeyBlock& block, float* scores, float* max) {
  Vec row_max[kTileRows];
  for (std::int64_t r = 0; r < tile.rows; ++r) row_max[r] = Vec(kMinusInfinity);
  for (std::int64_t k = block.first / kLanes * kLanes; k < block.count; k += kLanes) {
    const bool all = all_seen<1>(block, k);
    float* to = scores + score_at(tile.rows, k, 0);
    for (std::int64_t first = 0; first < tile.rows; first += kLanes) {
      take_rows(task, tile, block, k, first, all, to, row_max);
    }
    if (!all) [[unlikely]]
      mask_scores(task, tile, block, k, 1, to, row_max);
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) max[r] = max_lanes(row_max[r]);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
