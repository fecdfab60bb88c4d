// Scores of a tile against a block of keys. They are kept in the chunk order of tile.hpp, so that
// they are the packed A of the product with the values as they stand.
#pragma once

#include "simd/kernels/attend_additions.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Keeps the scores of row `r` for NV vectors of keys of one panel, at constant places from `to`,
/// so that a tile has one pointer and not one for each vector.
/// @param to where the panel's first score is
template <int MR, int NV>
HEADROOM_INLINE void keep_scores(int r, const Vec* found, float* to) {
  static_assert(kPanel % kChunk == 0 || kChunk % kPanel == 0);
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) store(to + score_at<MR>(v * kLanes, r), found[v]);
}

/// Of the kept scores of some vectors of keys from `k` on, what a row must not see becomes -inf.
/// Few panels need it, and inside the loop over panels its variables would push out those of the
/// loop. It adds what is added at once, too.
[[gnu::noinline]] inline void mask_scores(const AttendTask& task, const Tile& tile,
                                          const KeyBlock& block, std::int64_t k, int vectors,
                                          float* to, Vec* row_max) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const KeyRange seen = seen_keys(task, tile.row + r);
    Vec most = row_max[r];
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t lane = block.begin + k + v * kLanes;
      float* at = to + score_at(tile.rows, v * kLanes, r);
      const Vec score = task.adds_at_once ? add_some(task, load(at), tile.row + r, lane) : load(at);
      const Vec kept = only_between(score, seen.begin - lane, seen.end - lane);
      store(at, kept);
      most = max_or_second(most, kept);
    }
    row_max[r] = most;
  }
}

/// Adds what is added to kept scores, of few rows: they wait for memory, not for this, and each of
/// their loops would have a copy for each kind of what is added.
[[gnu::noinline]] inline void add_to_kept(const AttendTask& task, const Tile& tile,
                                          const KeyBlock& block, std::int64_t k, int vectors,
                                          bool all, float* to, Vec* row_max) {
  with_additions(
      task, tile, block, all, [&](const auto& additions) __attribute__((always_inline)) {
        for (std::int64_t r = 0; r < tile.rows; ++r) {
          for (int v = 0; v < vectors; ++v) {
            float* at = to + score_at(tile.rows, v * kLanes, r);
            const Vec changed = additions.changed(load(at), r, k + v * kLanes);
            store(at, changed);
            if (all) row_max[r] = max_or_second(row_max[r], changed);
          }
        }
      });
}

/// Keeps the scores of the tile against NV vectors of keys from `k` on, with what is added to them.
template <int MR, int NV>
HEADROOM_INLINE void finish_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   std::int64_t k, Accumulators<MR, NV>& acc, float* to,
                                   Vec (&row_max)[MR]) {
  const bool all = all_seen<NV>(block, k);
  if constexpr (!kStreams<MR>) {
    with_additions(
        task, tile, block, all, [&](const auto& additions) __attribute__((always_inline)) {
#pragma GCC unroll 16
          for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
              acc.v[r][v] = additions.changed(acc.v[r][v], r, k + v * kLanes);
            }
          }
        });
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) keep_scores<MR, NV>(r, acc.v[r], to);
  if constexpr (kStreams<MR>) {
    if (task.adds_to_scores(all)) [[unlikely]] {
      add_to_kept(task, tile, block, k, NV, all, to, row_max);
      if (all) return;
    }
  }
  if (!all) [[unlikely]] {
    mask_scores(task, tile, block, k, NV, to, row_max);
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) row_max[r] = max_or_second(row_max[r], acc.v[r][v]);
  }
}

/// Scores of the tile against NV vectors of keys from `k` on.
/// @param keys their panel, or the first of neighbours
template <class B, int MR, int NV, class Prefetcher = NoPrefetcher>
HEADROOM_INLINE void score_keys(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                std::int64_t k, const B* keys, float* to, Vec (&row_max)[MR],
                                Prefetcher prefetcher = {}) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) acc.v[r][v] = Vec(0.0F);
  }
  accumulate<MR, NV, Prefetch::none>(acc, tile.queries, keys, kPanel * task.head_dim, task.head_dim,
                                     kPanel, prefetcher);
  finish_scores<MR, NV>(task, tile, block, k, acc, to, row_max);
}

/// The same for the panels of a stream, the depth in pieces.
/// @param panels the first of them
/// @param place of its first score among `scores`
template <class B, int MR>
HEADROOM_INLINE void stream_scores(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   std::int64_t k, const B* panels, std::int64_t place,
                                   float* scores, Vec (&row_max)[MR]) {
  constexpr int kWide = kStreamVectors;
  const std::int64_t panel_stride = kPanel * task.head_dim;
  float sums[MR * kWide * kLanes];
  for (std::int64_t d = 0; d < task.head_dim; d += kStreamDepth) {
    const std::int64_t rest = task.head_dim - d;
    const std::int64_t depth = rest < kStreamDepth ? rest : kStreamDepth;
    for_stream_rows<MR, kWide>([&]<int ROWS, int FIRST>() __attribute__((always_inline)) {
      Accumulators<ROWS, kWide> acc;
      float* partial = sums + FIRST * kWide * kLanes;
#pragma GCC unroll 16
      for (int i = 0; i < ROWS * kWide; ++i) {
        acc.v[i / kWide][i % kWide] = d == 0 ? Vec(0.0F) : load(partial + i * kLanes);
      }
      accumulate<ROWS, kWide, Prefetch::none, MR>(acc, tile.queries + d * MR + FIRST * kChunk,
                                                  panels + d * kPanel, panel_stride, depth, kPanel);
#pragma GCC unroll 16
      for (int i = 0; i < ROWS * kWide; ++i) {
        store(partial + i * kLanes, acc.v[i / kWide][i % kWide]);
      }
    });
  }
  const bool all = all_seen<kWide>(block, k);
  const bool adds = task.adds_to_scores(all);
#pragma GCC unroll 16
  for (int v = 0; v < kWide; v += 2) {
    const std::int64_t at = k + v * kLanes;
    float* to = scores + score_at<MR>(place + v * kLanes, 0);
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
      const float* from = sums + (r * kWide + v) * kLanes;
      const Vec found[] = {load(from), load(from + kLanes)};
      keep_scores<MR, 2>(r, found, to);
      if (all && !adds) row_max[r] = max_or_second(max_or_second(row_max[r], found[0]), found[1]);
    }
    if (adds) [[unlikely]]
      add_to_kept(task, tile, block, at, 2, all, to, row_max);
    if (!all) mask_scores(task, tile, block, at, 2, to, row_max);
  }
}

/// Scores of the tile against the panels of the block. Rows' maxima over the block go to `max`.
/// @param prefetch what is prefetched meanwhile
template <class B, int MR>
HEADROOM_INLINE void score_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores, float* max, PrefetchRows prefetch) {
  Vec row_max[MR];
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) row_max[r] = Vec(kMinusInfinity);
  std::int64_t k = block.first / kPanel * kPanel;
  if constexpr (kStreams<MR> && kStreamsPanels) {
    constexpr std::int64_t kKeys = kStreamVectors * kLanes;
    for (; k + kKeys - kLanes < block.count; k += kKeys) {
      const B* panels = static_cast<const B*>(task.keys) + (block.place + k) * task.head_dim;
      stream_scores<B, MR>(task, tile, block, k, panels, k, scores, row_max);
    }
  }
  const B* keys = static_cast<const B*>(task.keys) + (block.place + k) * task.head_dim;
  const auto score = [&](auto prefetcher) __attribute__((always_inline)) {
    score_keys<B, MR, 2>(task, tile, block, k, keys, scores + score_at<MR>(k, 0), row_max,
                         prefetcher);
    k += kPanel;
    keys += kPanel * task.head_dim;
  };
  // Loops of their own, see NoPrefetcher.
  if constexpr (!kStreams<MR>) {
    while (prefetch.rows > 0 && k + kLanes < block.count) score(RowPrefetcher(prefetch));
  } else if (task.next_rows != nullptr) {
    while (k + kLanes < block.count) score(NextRowsPrefetcher{task.next_rows});
  } else if (prefetches_pieces(task)) {
    while (k + kLanes < block.count) {
      const char* ahead = piece_ahead<B>(task, block, false, k / kStreamDepth);
      if (ahead == nullptr) break;
      score(PiecePrefetcher<kPanel * sizeof(B)>{ahead, task.ahead.into_l1});
    }
  }
  while (k + kLanes < block.count) score(NoPrefetcher());
  if (k < block.count) {
    score_keys<B, MR, 1>(task, tile, block, k, keys, scores + score_at<MR>(k, 0), row_max);
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) max[r] = max_lanes(row_max[r]);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
