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
  // A division would cost as much as a step of the tile.
  const std::int64_t token = task.group == 1 ? row : row / task.group;
  const std::int64_t end = task.position + token + 1;
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
/// memory. One stream at a time is slow, as its misses wait for each other, so keys are read from
/// several panels at once, some rows at a time, in pieces that stay in the L1 for the other rows.
template <int MR>
inline constexpr bool kStreams = MR <= 8 && MR <= kTileRows - 2;
inline constexpr int kStreamVectors = 2 * kMostTilePanels;
inline constexpr int kStreamRows =
    2 * kTileRows >= kStreamVectors ? 2 * kTileRows / kStreamVectors : 1;
inline constexpr std::int64_t kStreamDepth = 2 * kChunk;

/// Keeps the scores of row `r` for NV vectors of keys from `k` on; what it must not see becomes
/// -inf.
template <int MR, int NV>
HEADROOM_INLINE void keep_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 std::int64_t k, int r, const Vec (&found)[NV], float* scores,
                                 Vec& row_max) {
  const bool masked = k + NV * kLanes > block.common_end || k < block.common_begin;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    float* to = scores + score_at<MR>(k + v * kLanes, r);
    store(to, found[v]);
    if (masked) [[unlikely]] {
      const KeyRange seen = seen_keys(task, tile.row + r);
      const std::int64_t lane = block.begin + k + v * kLanes;
      const Vec score = only_between(found[v], seen.begin - lane, seen.end - lane);
      store(to, score);
      row_max = max_or_second(row_max, score);
    } else {
      row_max = max_or_second(row_max, found[v]);
    }
  }
}

/// Scores of the tile against NV vectors of keys from `k` on.
template <int MR, int NV>
HEADROOM_INLINE void score_keys(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                std::int64_t k, float* scores, Vec (&row_max)[MR]) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) acc.v[r][v] = Vec(0.0F);
  }
  accumulate<MR, NV, Ask::nothing>(acc, tile.queries, task.keys + (block.begin + k) * task.head_dim,
                                   0, task.head_dim, kPanel);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
    keep_scores<MR, NV>(task, tile, block, k, r, acc.v[r], scores, row_max[r]);
  }
}

/// Calls `f.template operator()<ROWS>(first)` for groups of rows that are streamed together.
template <int MR, int FIRST = 0, class F>
HEADROOM_INLINE void for_stream_rows(F&& f) {
  if constexpr (FIRST < MR) {
    constexpr int kRows = MR - FIRST < kStreamRows ? MR - FIRST : kStreamRows;
    f.template operator()<kRows, FIRST>();
    for_stream_rows<MR, FIRST + kRows>(static_cast<F&&>(f));
  }
}

/// The same for the panels of a stream, the depth in pieces.
template <int MR>
HEADROOM_INLINE void stream_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   std::int64_t k, float* scores, Vec (&row_max)[MR]) {
  constexpr int kWide = kStreamVectors;
  const float* panels = task.keys + (block.begin + k) * task.head_dim;
  const std::int64_t panel_stride = kPanel * task.head_dim;
  float sums[MR * kWide * kLanes];
  for (std::int64_t d = 0; d < task.head_dim; d += kStreamDepth) {
    const std::int64_t rest = task.head_dim - d;
    const std::int64_t depth = rest < kStreamDepth ? rest : kStreamDepth;
    for_stream_rows<MR>([&]<int ROWS, int FIRST>() __attribute__((always_inline)) {
      Accumulators<ROWS, kWide> acc;
      float* partial = sums + FIRST * kWide * kLanes;
#pragma GCC unroll 16
      for (int i = 0; i < ROWS * kWide; ++i) {
        acc.v[i / kWide][i % kWide] = d == 0 ? Vec(0.0F) : load(partial + i * kLanes);
      }
      accumulate<ROWS, kWide, Ask::nothing, MR>(acc, tile.queries + d * MR + FIRST * kChunk,
                                                panels + d * kPanel, panel_stride, depth, kPanel);
#pragma GCC unroll 16
      for (int i = 0; i < ROWS * kWide; ++i) {
        store(partial + i * kLanes, acc.v[i / kWide][i % kWide]);
      }
    });
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
    Vec found[kWide];
#pragma GCC unroll 16
    for (int v = 0; v < kWide; ++v) found[v] = load(sums + (r * kWide + v) * kLanes);
    keep_scores<MR, kWide>(task, tile, block, k, r, found, scores, row_max[r]);
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
  if constexpr (kStreams<MR>) {
    constexpr std::int64_t kKeys = kStreamVectors * kLanes;
    for (; k + kKeys - kLanes < block.count; k += kKeys) {
      stream_scores<MR>(task, tile, block, k, scores, row_max);
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

/// NV vectors of the output of ROWS rows from `FIRST` on: out += weights * values, for the keys
/// from `k` to below `end`, which all rows see.
template <int MR, int ROWS, int FIRST, int NV>
HEADROOM_INLINE void add_common_values(const AttendTask& task, const float* weights,
                                       const float* values, float* out, std::int64_t cols,
                                       std::int64_t k, std::int64_t end) {
  const std::int64_t stride = task.value_stride;
  // The vectors of a row lie side by side, so the next pair follows at once.
  constexpr std::int64_t kSideBySide = 2 * kLanes;
  Accumulators<ROWS, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc.v[r][v] = load(out + (FIRST + r) * cols + v * kLanes);
  }
  for (; k < end && k % kChunk != 0; ++k) {
    depth_step<ROWS, NV, Ask::nothing>(acc, weights + score_at<MR>(k, FIRST), values + k * stride,
                                       kSideBySide);
  }
  accumulate<ROWS, NV, Ask::nothing, MR>(acc, weights + score_at<MR>(k, FIRST), values + k * stride,
                                         kSideBySide, end - k, stride);
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(out + (FIRST + r) * cols + v * kLanes, acc.v[r][v]);
  }
}

/// One panel of the output. For every row in the order of keys.
template <int MR, int NV>
HEADROOM_INLINE void add_values(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                const float* weights, const float* values, float* out,
                                std::int64_t cols) {
  add_some_values<MR, NV>(task, tile, block, weights, values, out, cols, block.first,
                          block.common_begin);
  add_common_values<MR, MR, 0, NV>(task, weights, values, out, cols, block.common_begin,
                                   block.common_end);
  add_some_values<MR, NV>(task, tile, block, weights, values, out, cols, block.common_end,
                          block.count);
}

/// Calls `add.template operator()<NV>(c)` for all that are NV vectors wide; returns where the rest
/// is.
template <int NV, class Add>
HEADROOM_INLINE std::int64_t for_columns(std::int64_t c, std::int64_t cols, Add&& add) {
  for (; c + NV * kLanes <= cols; c += NV * kLanes) add.template operator()<NV>(c);
  return c;
}

/// The same for all columns, some keys at a time, so that one row after the other finds their
/// values in the L1.
template <int MR>
HEADROOM_INLINE void stream_values(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   const float* weights, const float* values, std::int64_t cols) {
  float* out = tile.state.out;
  const auto some = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    for (std::int64_t c = 0; c < cols; c += kLanes) {
      add_some_values<MR, 1>(task, tile, block, weights, values + c, out + c, cols, begin, end);
    }
  };
  some(block.first, block.common_begin);
  for (std::int64_t k = block.common_begin; k < block.common_end;) {
    const std::int64_t whole = (k / kStreamDepth + 1) * kStreamDepth;
    const std::int64_t end = whole < block.common_end ? whole : block.common_end;
    for_stream_rows<MR>([&]<int ROWS, int FIRST>() __attribute__((always_inline)) {
      const auto add = [&]<int NV>(std::int64_t c) __attribute__((always_inline)) {
        add_common_values<MR, ROWS, FIRST, NV>(task, weights, values + c, out + c, cols, k, end);
      };
      std::int64_t c = for_columns<kStreamVectors>(0, cols, add);
      c = for_columns<2>(c, cols, add);
      for_columns<1>(c, cols, add);
    });
    k = end;
  }
  some(block.common_end, block.count);
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
  if constexpr (kStreams<MR>) {
    stream_values<MR>(task, tile, block, scores, values, cols);
    return;
  }
  std::int64_t c = 0;
  for (; c + kPanel <= cols; c += kPanel) {
    add_values<MR, 2>(task, tile, block, scores, values + c, tile.state.out + c, cols);
  }
  if (c < cols) add_values<MR, 1>(task, tile, block, scores, values + c, tile.state.out + c, cols);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
