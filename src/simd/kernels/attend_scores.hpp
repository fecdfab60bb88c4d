// Scores of a tile against a block of keys. They are kept in the chunk order of tile.hpp, so that
// they are the packed A of the product with the values as they stand.
#pragma once

#include "simd/kernels/attend_tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Whether all rows see NV vectors of keys from `k` on.
template <int NV>
HEADROOM_INLINE bool all_seen(const KeyBlock& block, std::int64_t k) {
  return k >= block.common_begin && k + NV * kLanes <= block.common_end;
}

/// Keeps the scores of row `r` for NV vectors of keys from `k` on, which it sees.
template <int MR, int NV>
HEADROOM_INLINE void keep_scores(std::int64_t k, int r, const Vec (&found)[NV], float* scores,
                                 Vec& row_max) {
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    store(scores + score_at<MR>(k + v * kLanes, r), found[v]);
    row_max = max_or_second(row_max, found[v]);
  }
}

/// The same where some row does not see all; what it must not see becomes -inf.
template <int MR, int NV>
HEADROOM_INLINE void mask_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 std::int64_t k, int r, const Vec (&found)[NV], float* scores,
                                 Vec& row_max) {
  const KeyRange seen = seen_keys(task, tile.row + r);
  Vec kept[NV];
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    const std::int64_t lane = block.begin + k + v * kLanes;
    kept[v] = only_between(found[v], seen.begin - lane, seen.end - lane);
  }
  keep_scores<MR, NV>(k, r, kept, scores, row_max);
}

/// Scores of the tile against NV vectors of keys from `k` on.
template <class B, int MR, int NV>
HEADROOM_INLINE void score_keys(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                std::int64_t k, float* scores, Vec (&row_max)[MR]) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; ++v) acc.v[r][v] = Vec(0.0F);
  }
  accumulate<MR, NV, Ask::nothing>(
      acc, tile.queries, static_cast<const B*>(task.keys) + (block.begin + k) * task.head_dim, 0,
      task.head_dim, kPanel);
  if (all_seen<NV>(block, k)) [[likely]] {
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) keep_scores<MR, NV>(k, r, acc.v[r], scores, row_max[r]);
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
    mask_scores<MR, NV>(task, tile, block, k, r, acc.v[r], scores, row_max[r]);
  }
}

/// The same for the panels of a stream, the depth in pieces.
template <class B, int MR>
HEADROOM_INLINE void stream_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   std::int64_t k, float* scores, Vec (&row_max)[MR]) {
  constexpr int kWide = kStreamVectors;
  const B* panels = static_cast<const B*>(task.keys) + (block.begin + k) * task.head_dim;
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
    if (all_seen<kWide>(block, k)) [[likely]] {
      keep_scores<MR, kWide>(k, r, found, scores, row_max[r]);
    } else {
      mask_scores<MR, kWide>(task, tile, block, k, r, found, scores, row_max[r]);
    }
  }
}

/// Scores of the tile against the panels of the block. Rows' maxima over the block go to `max`.
template <class B, int MR>
HEADROOM_INLINE void score_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores, float* max) {
  Vec row_max[MR];
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) row_max[r] = Vec(kMinusInfinity);
  std::int64_t k = block.first / kPanel * kPanel;
  if constexpr (kStreams<MR> && kStreamsPanels) {
    constexpr std::int64_t kKeys = kStreamVectors * kLanes;
    for (; k + kKeys - kLanes < block.count; k += kKeys) {
      stream_scores<B, MR>(task, tile, block, k, scores, row_max);
    }
  }
  for (; k + kLanes < block.count; k += kPanel)
    score_keys<B, MR, 2>(task, tile, block, k, scores, row_max);
  if (k < block.count) score_keys<B, MR, 1>(task, tile, block, k, scores, row_max);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) max[r] = max_lanes(row_max[r]);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
