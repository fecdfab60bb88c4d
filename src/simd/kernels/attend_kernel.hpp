// Streaming softmax attention: tiles of query rows against blocks of keys, with a running maximum
// and sum (Milakov & Gimelshein 2018; Dao et al., FlashAttention, 2022). No T x T matrix exists.
//
// A tile's scores go to a small buffer in the chunk order of tile.hpp, so that they are the packed
// A of the product with the values as they stand. Queries are not scaled: the scale is part of the
// subtraction of the maximum, exp2(s * scale - max * scale), one multiply-add for both.
#pragma once

#include "simd/kernels/exp2.hpp"
#include "simd/kernels/tile.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// The state that a tile of query rows carries from one block of keys to the next.
struct TileState {
  std::int64_t row = 0;  ///< first query row
  std::int64_t rows = 0;
  float* queries = nullptr;  ///< packed, `rows x head_dim`
  float* out = nullptr;      ///< `rows x cols`, unnormalised
  float* sum = nullptr;      ///< `rows x lanes`: partial sums of the weights
  float* max = nullptr;      ///< `rows`: running maxima of the unscaled scores
};

/// A block of keys as a tile sees it.
struct KeyBlock {
  std::int64_t begin = 0;
  std::int64_t count = 0;   ///< keys that the tile's last row may see
  std::int64_t common = 0;  ///< keys that every row of the tile may see
};

/// Where the score of key `k` (within the block) and row `r` of a tile of MR rows is kept.
template <int MR>
HEADROOM_INLINE std::int64_t score_at(std::int64_t k, std::int64_t r) {
  return (k / kChunk) * MR * kChunk + r * kChunk + k % kChunk;
}

/// The first `count` lanes; -inf in the others.
HEADROOM_INLINE Vec only_first(const Vec& v, std::int64_t count) {
  alignas(64) static constexpr float kIndices[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
  const std::int64_t clamped = count < 0 ? 0 : count > kLanes ? kLanes : count;
  return xsimd::select(load(kIndices) < Vec(static_cast<float>(clamped)), v, Vec(kMinusInfinity));
}

/// Scores of the tile against NV vectors of keys from `k` on; what a row must not see becomes -inf.
template <int MR, int NV>
HEADROOM_INLINE void score_keys(const AttendTask& task, const TileState& tile,
                                const KeyBlock& block, std::int64_t k, float* scores,
                                Vec (&row_max)[MR]) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) acc.v[r][v] = Vec(0.0F);
  }
  accumulate<MR, NV, Ask::nothing>(acc, tile.queries, task.keys + (block.begin + k) * task.head_dim,
                                   0, task.head_dim, kPanel);
  const bool masked = k + NV * kLanes > block.common;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) {
      float* to = scores + score_at<MR>(k + v * kLanes, r);
      store(to, acc.v[r][v]);
      if (masked) [[unlikely]] {
        const std::int64_t seen = task.causal ? tile.row + r + 1 - block.begin : block.count;
        const Vec score = only_first(acc.v[r][v], seen - k - v * kLanes);
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
HEADROOM_INLINE void score_block(const AttendTask& task, const TileState& tile,
                                 const KeyBlock& block, float* scores, float* max) {
  Vec row_max[MR];
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) row_max[r] = Vec(kMinusInfinity);
  std::int64_t k = 0;
  for (; k + kLanes < block.count; k += kPanel)
    score_keys<MR, 2>(task, tile, block, k, scores, row_max);
  if (k < block.count) score_keys<MR, 1>(task, tile, block, k, scores, row_max);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) max[r] = max_lanes(row_max[r]);
}

HEADROOM_INLINE float exp2_scalar(float x) { return exp2(Vec(x)).data[0]; }

/// Merges the block's maxima into the running ones and rescales sums and output accordingly.
HEADROOM_INLINE void raise_maximum(const AttendTask& task, const TileState& tile,
                                   const float* block_max, std::int64_t cols) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float old_max = tile.max[r];
    if (!(block_max[r] > old_max)) continue;
    tile.max[r] = block_max[r];
    if (old_max == kMinusInfinity) continue;  // nothing was added yet
    const Vec factor(exp2_scalar((old_max - block_max[r]) * task.scale));
    float* sum = tile.sum + r * kLanes;
    store(sum, load(sum) * factor);
    float* out = tile.out + r * cols;
    for (std::int64_t c = 0; c < cols; c += kLanes) store(out + c, load(out + c) * factor);
  }
}

/// Scores become weights, exp2((score - maximum) * scale), and are added to the rows' sums.
template <int MR>
HEADROOM_INLINE void weigh_block(const AttendTask& task, const TileState& tile,
                                 const KeyBlock& block, float* scores, float* factors) {
  const Vec scale(task.scale);
  for (int r = 0; r < MR; ++r) {
    // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
    const float max = tile.max[r] == kMinusInfinity ? 0.0F : tile.max[r];
    const Vec shift(-max * task.scale);
    Vec sum = load(tile.sum + r * kLanes);
    for (std::int64_t k = 0; k < block.count; k += kLanes) {
      float* s = scores + score_at<MR>(k, r);
      const Vec weight = exp2(multiply_add(load(s), scale, shift));
      store(s, weight);
      sum += weight;
    }
    store(tile.sum + r * kLanes, sum);
    if (task.dropout != nullptr) {
      const std::uint64_t row = task.row_index + static_cast<std::uint64_t>(tile.row + r);
      task.dropout->factors(row, block.begin, block.count, factors);
      for (std::int64_t k = 0; k < block.count; ++k) scores[score_at<MR>(k, r)] *= factors[k];
    }
  }
}

/// One panel of the output: out += weights * values, whose rows are `stride` apart. Keys that only
/// some rows may see are added row by row, so that a NaN in a masked value cannot leak through a
/// weight of 0.
template <int MR, int NV>
HEADROOM_INLINE void add_values(const TileState& tile, const KeyBlock& block, const float* weights,
                                const float* values, std::int64_t stride, float* out,
                                std::int64_t cols, bool causal) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) acc.v[r][v] = load(out + r * cols + v * kLanes);
  }
  accumulate<MR, NV, Ask::nothing>(acc, weights, values, 0, block.common, stride);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) store(out + r * cols + v * kLanes, acc.v[r][v]);
  }
  if (!causal || block.common == block.count) return;
  for (int r = 1; r < MR; ++r) {
    const std::int64_t seen = tile.row + r + 1 - block.begin;
    const std::int64_t end = seen < block.count ? seen : block.count;
    if (end <= block.common) continue;
    Vec sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = load(out + r * cols + v * kLanes);
    for (std::int64_t k = block.common; k < end; ++k) {
      const Vec weight(weights[score_at<MR>(k, r)]);
      for (int v = 0; v < NV; ++v) {
        sum[v] = multiply_add(weight, load(values + k * stride + v * kLanes), sum[v]);
      }
    }
    for (int v = 0; v < NV; ++v) store(out + r * cols + v * kLanes, sum[v]);
  }
}

template <int MR>
[[gnu::noinline]] void attend_block(const AttendTask& task, const TileState& tile,
                                    const KeyBlock& block, float* scores, float* factors) {
  const std::int64_t cols = (task.head_dim + kLanes - 1) / kLanes * kLanes;
  float block_max[MR];
  score_block<MR>(task, tile, block, scores, block_max);
  raise_maximum(task, tile, block_max, cols);
  weigh_block<MR>(task, tile, block, scores, factors);
  for (std::int64_t c = 0; c < cols; c += kPanel) {
    const bool narrow = cols - c == kLanes;
    const bool in_place = task.value_stride != 0;
    const std::int64_t stride = in_place ? task.value_stride : narrow ? kLanes : kPanel;
    const float* panel = task.values + (in_place ? c : c * task.tokens) + block.begin * stride;
    if (narrow) {
      add_values<MR, 1>(tile, block, scores, panel, stride, tile.out + c, cols, task.causal);
    } else {
      add_values<MR, 2>(tile, block, scores, panel, stride, tile.out + c, cols, task.causal);
    }
  }
}

/// Divides output rows by their sums and writes them to the destination.
HEADROOM_INLINE void finish_tile(const AttendTask& task, const TileState& tile) {
  const std::int64_t cols = (task.head_dim + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const Vec factor(1.0F / sum_lanes(load(tile.sum + r * kLanes)));
    const float* from = tile.out + r * cols;
    float* to = task.out + (tile.row + r) * task.out_stride;
    std::int64_t c = 0;
    for (; c + kLanes <= task.head_dim; c += kLanes) store(to + c, load(from + c) * factor);
    if (c < task.head_dim) {
      float lane[kLanes];
      store(lane, load(from + c) * factor);
      for (std::int64_t i = 0; c + i < task.head_dim; ++i) to[c + i] = lane[i];
    }
  }
}

HEADROOM_INLINE TileState start_tile(const AttendTask& task, std::int64_t t, float* memory) {
  const std::int64_t depth = (task.head_dim + kChunk - 1) / kChunk * kChunk;
  const std::int64_t cols = (task.head_dim + kLanes - 1) / kLanes * kLanes;
  TileState tile;
  tile.row = tile_begin(task.tokens, task.tiles, t);
  tile.rows = tile_begin(task.tokens, task.tiles, t + 1) - tile.row;
  tile.queries = memory;
  tile.out = tile.queries + kTileRows * depth;
  tile.sum = tile.out + kTileRows * cols;
  tile.max = tile.sum + kTileRows * kLanes;
  return tile;
}

/// All tiles of the task process a block of keys before the next block, so that all but the first
/// tile read its keys and values from the L2.
inline void attend(const AttendTask& task) {
  const std::int64_t depth = (task.head_dim + kChunk - 1) / kChunk * kChunk;
  const std::int64_t cols = (task.head_dim + kLanes - 1) / kLanes * kLanes;
  const std::int64_t tile_floats = kTileRows * (depth + cols + kLanes + 1);
  float* scores = task.scratch;
  float* factors = scores + kTileRows * kKeyBlock;
  float* tiles = factors + kKeyBlock;
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    const TileState tile = start_tile(task, t, tiles + (t - task.tile_begin) * tile_floats);
    pack_rows(task.q + tile.row * task.q_stride, task.q_stride, tile.rows, task.head_dim,
              tile.queries);
    for (std::int64_t i = 0; i < tile.rows * cols; ++i) tile.out[i] = 0.0F;
    for (std::int64_t i = 0; i < tile.rows * kLanes; ++i) tile.sum[i] = 0.0F;
    for (std::int64_t r = 0; r < tile.rows; ++r) tile.max[r] = kMinusInfinity;
  }
  const std::int64_t last_row = tile_begin(task.tokens, task.tiles, task.tile_end) - 1;
  const std::int64_t key_end = task.causal ? last_row + 1 : task.tokens;
  for (std::int64_t begin = 0; begin < key_end; begin += kKeyBlock) {
    const std::int64_t end = begin + kKeyBlock < task.tokens ? begin + kKeyBlock : task.tokens;
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      const TileState tile = start_tile(task, t, tiles + (t - task.tile_begin) * tile_floats);
      const std::int64_t seen_last = task.causal ? tile.row + tile.rows : task.tokens;
      const std::int64_t seen_first = task.causal ? tile.row + 1 : task.tokens;
      if (seen_last <= begin) continue;
      KeyBlock block;
      block.begin = begin;
      block.count = (seen_last < end ? seen_last : end) - begin;
      block.common = (seen_first < end ? seen_first : end) - begin;
      if (block.common < 0) block.common = 0;
      with_rows(
          tile.rows, [&]<int MR>() __attribute__((always_inline)) {
            attend_block<MR>(task, tile, block, scores, factors);
          });
    }
  }
  for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    finish_tile(task, start_tile(task, t, tiles + (t - task.tile_begin) * tile_floats));
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
