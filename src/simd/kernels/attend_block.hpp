// Streaming attention of one tile of rows over one block of keys.
//
// A tile's scores go to a small buffer in the chunk order of tile.hpp, so that they are the packed
// A of the product with the values as they stand. Queries are not scaled: the scale is part of the
// subtraction of the maximum, exp2(s * scale - max * scale), one multiply-add for both.
#pragma once

#include "simd/kernels/exp2.hpp"
#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// What a tile of rows carries from one block of keys to the next, over one segment or over all.
struct TileState {
  float* out = nullptr;  ///< `rows x cols`, unnormalised
  float* sum = nullptr;  ///< `rows x lanes`: partial sums of the weights
  float* max = nullptr;  ///< `rows`: running maxima of the unscaled scores
};

/// A tile of rows, and its state over the present segment.
struct Tile {
  std::int64_t row = 0;  ///< first row
  std::int64_t rows = 0;
  float* queries = nullptr;  ///< packed, `rows x head_dim`
  TileState state;
};

/// The keys that a row sees, from `begin` to below `end`.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

HEADROOM_INLINE KeyRange seen_keys(const AttendTask& task, std::int64_t row) {
  if (!task.causal) return {0, task.key_count};
  const std::int64_t end = task.position + row / task.group + 1;
  return {task.window > 0 && end > task.window ? end - task.window : 0, end};
}

/// A block of keys as a tile sees it; all but `begin` count from `begin`.
struct KeyBlock {
  std::int64_t begin = 0;
  std::int64_t first = 0, count = 0;  ///< some row sees keys from `first` to below `count`
  std::int64_t common_begin = 0, common_end = 0;  ///< of these all rows see these
};

HEADROOM_INLINE std::int64_t clamp(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value < low ? low : value > high ? high : value;
}

HEADROOM_INLINE KeyBlock see_block(const AttendTask& task, const Tile& tile, std::int64_t begin) {
  const KeyRange of_first = seen_keys(task, tile.row);
  const KeyRange of_last = seen_keys(task, tile.row + tile.rows - 1);
  KeyBlock block;
  block.begin = begin;
  block.first = clamp(of_first.begin - begin, 0, kKeyBlock);
  block.count = clamp(of_last.end - begin, 0, kKeyBlock);
  block.common_begin = clamp(of_last.begin - begin, block.first, block.count);
  block.common_end = clamp(of_first.end - begin, block.common_begin, block.count);
  return block;
}

/// Where the score of key `k` (within the block) and row `r` of a tile of MR rows is kept.
template <int MR>
HEADROOM_INLINE std::int64_t score_at(std::int64_t k, std::int64_t r) {
  return (k / kChunk) * MR * kChunk + r * kChunk + k % kChunk;
}

/// The lanes from `begin` to below `end`; -inf in the others.
HEADROOM_INLINE Vec only_between(const Vec& v, std::int64_t begin, std::int64_t end) {
  alignas(64) static constexpr float kIndices[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
  const Vec lane = load(kIndices);
  const Vec none(kMinusInfinity);
  const Vec from_begin =
      xsimd::select(lane < Vec(static_cast<float>(clamp(begin, 0, kLanes))), none, v);
  return xsimd::select(lane < Vec(static_cast<float>(clamp(end, 0, kLanes))), from_begin, none);
}

/// A tile of few rows has no others beside it that read its keys from a cache: it streams them from
/// memory, several panels at a time.
template <int MR>
inline constexpr bool kStreams = MR <= 8 && MR <= kTileRows - 2;
template <int MR>
inline constexpr int kStreamVectors = kStreams<MR> ? kWideVectors<MR> : 2;

/// Scores of the tile against NV vectors of keys from `k` on; what a row must not see becomes -inf.
template <int MR, int NV>
HEADROOM_INLINE void score_keys(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                std::int64_t k, float* scores, Vec (&row_max)[MR]) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc.v[r][v] = Vec(0.0F);
  }
  accumulate<MR, NV, kStreams<MR> ? Ask::next_panels : Ask::nothing>(
      acc, tile.queries, task.keys + (block.begin + k) * task.head_dim, kPanel * task.head_dim,
      task.head_dim, kPanel);
  const bool masked = k + NV * kLanes > block.common_end || k < block.common_begin;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      float* to = scores + score_at<MR>(k + v * kLanes, r);
      store(to, acc.v[r][v]);
      if (masked) [[unlikely]] {
        const KeyRange seen = seen_keys(task, tile.row + r);
        const std::int64_t lane = block.begin + k + v * kLanes;
        const Vec score = only_between(acc.v[r][v], seen.begin - lane, seen.end - lane);
        store(to, score);
        row_max[r] = max_or_second(row_max[r], score);
      } else {
        row_max[r] = max_or_second(row_max[r], acc.v[r][v]);
      }
    }
  }
}

/// Scores of the tile against the panels of the block. Rows' maxima over the block go to `max`.
template <int MR>
HEADROOM_INLINE void score_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores, float* max) {
  Vec row_max[MR];
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) row_max[r] = Vec(kMinusInfinity);
  std::int64_t k = block.first / kPanel * kPanel;
  constexpr int kWide = kStreamVectors<MR>;
  if constexpr (kWide > 2) {
    for (; k + (kWide - 1) * kLanes < block.count; k += kWide * kLanes) {
      score_keys<MR, kWide>(task, tile, block, k, scores, row_max);
    }
  }
  for (; k + kLanes < block.count; k += kPanel)
    score_keys<MR, 2>(task, tile, block, k, scores, row_max);
  if (k < block.count) score_keys<MR, 1>(task, tile, block, k, scores, row_max);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) max[r] = max_lanes(row_max[r]);
}

HEADROOM_INLINE float exp2_scalar(float x) { return exp2(Vec(x)).data[0]; }

/// Merges the block's maxima into the running ones and rescales sums and output accordingly.
HEADROOM_INLINE void raise_maximum(float scale, std::int64_t rows, const TileState& state,
                                   const float* block_max, std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float old_max = state.max[r];
    if (!(block_max[r] > old_max)) continue;
    state.max[r] = block_max[r];
    if (old_max == kMinusInfinity) continue;  // nothing was added yet
    const Vec factor(exp2_scalar((old_max - block_max[r]) * scale));
    float* sum = state.sum + r * kLanes;
    store(sum, load(sum) * factor);
    float* out = state.out + r * cols;
    for (std::int64_t c = 0; c < cols; c += kLanes) store(out + c, load(out + c) * factor);
  }
}

/// Scores become weights, exp2((score - maximum) * scale), and are added to the rows' sums.
template <int MR>
HEADROOM_INLINE void weigh_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores, float* factors) {
  const Vec scale(task.scale);
  for (int r = 0; r < MR; ++r) {
    // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
    const float max = tile.state.max[r] == kMinusInfinity ? 0.0F : tile.state.max[r];
    const Vec shift(-max * task.scale);
    Vec sum = load(tile.state.sum + r * kLanes);
    for (std::int64_t k = block.first / kLanes * kLanes; k < block.count; k += kLanes) {
      float* s = scores + score_at<MR>(k, r);
      const Vec weight = exp2(multiply_add(load(s), scale, shift));
      store(s, weight);
      sum += weight;
    }
    store(tile.state.sum + r * kLanes, sum);
    if (task.dropout != nullptr) {
      const std::int64_t row = tile.row + r;
      const std::uint64_t index =
          dropout_row(task.dropout_head + row % task.group, task.position + row / task.group);
      task.dropout->factors(index, block.begin, block.count, factors);
      for (std::int64_t k = block.first; k < block.count; ++k) {
        scores[score_at<MR>(k, r)] *= factors[k];
      }
    }
  }
}

/// Adds the values that only some rows see, row by row, so that a NaN in a masked value cannot leak
/// through a weight of 0. Of these the ones from `begin` to below `end`.
template <int MR, int NV>
HEADROOM_INLINE void add_some_values(const AttendTask& task, const Tile& tile,
                                     const KeyBlock& block, const float* weights,
                                     const float* values, float* out, std::int64_t cols,
                                     std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  for (int r = 0; r < MR; ++r) {
    const KeyRange seen = seen_keys(task, tile.row + r);
    const std::int64_t row_begin = clamp(seen.begin - block.begin, begin, end);
    const std::int64_t row_end = clamp(seen.end - block.begin, begin, end);
    if (row_begin >= row_end) continue;
    Vec sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = load(out + r * cols + v * kLanes);
    for (std::int64_t k = row_begin; k < row_end; ++k) {
      const Vec weight(weights[score_at<MR>(k, r)]);
      for (int v = 0; v < NV; ++v) {
        sum[v] = multiply_add(weight, load(values + k * task.value_stride + v * kLanes), sum[v]);
      }
    }
    for (int v = 0; v < NV; ++v) store(out + r * cols + v * kLanes, sum[v]);
  }
}

/// One panel of the output: out += weights * values. For every row in the order of keys.
template <int MR, int NV>
HEADROOM_INLINE void add_values(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                const float* weights, const float* values, float* out,
                                std::int64_t cols) {
  const std::int64_t stride = task.value_stride;
  add_some_values<MR, NV>(task, tile, block, weights, values, out, cols, block.first,
                          block.common_begin);
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc.v[r][v] = load(out + r * cols + v * kLanes);
  }
  // The vectors of a row lie side by side, so the next pair follows at once.
  constexpr std::int64_t kSideBySide = 2 * kLanes;
  std::int64_t k = block.common_begin;
  for (; k < block.common_end && k % kChunk != 0; ++k) {
    depth_step<MR, NV, Ask::nothing>(acc, weights + score_at<MR>(k, 0), values + k * stride,
                                     kSideBySide, stride);
  }
  accumulate<MR, NV, kStreams<MR> ? Ask::next_rows : Ask::nothing>(
      acc, weights + score_at<MR>(k, 0), values + k * stride, kSideBySide, block.common_end - k,
      stride);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(out + r * cols + v * kLanes, acc.v[r][v]);
  }
  add_some_values<MR, NV>(task, tile, block, weights, values, out, cols, block.common_end,
                          block.count);
}

HEADROOM_INLINE std::int64_t padded_cols(const AttendTask& task) {
  return (task.head_dim + kLanes - 1) / kLanes * kLanes;
}

template <int MR>
[[gnu::noinline]] void attend_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                    float* scores, float* factors) {
  const std::int64_t cols = padded_cols(task);
  float block_max[MR];
  score_block<MR>(task, tile, block, scores, block_max);
  raise_maximum(task.scale, MR, tile.state, block_max, cols);
  weigh_block<MR>(task, tile, block, scores, factors);
  const float* values = task.values + block.begin * task.value_stride;
  std::int64_t c = 0;
  constexpr int kWide = kStreamVectors<MR>;
  if constexpr (kWide > 2) {
    for (; c + kWide * kLanes <= cols; c += kWide * kLanes) {
      add_values<MR, kWide>(task, tile, block, scores, values + c, tile.state.out + c, cols);
    }
  }
  for (; c + kPanel <= cols; c += kPanel) {
    add_values<MR, 2>(task, tile, block, scores, values + c, tile.state.out + c, cols);
  }
  if (c < cols) add_values<MR, 1>(task, tile, block, scores, values + c, tile.state.out + c, cols);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
