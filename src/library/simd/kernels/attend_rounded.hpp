// Keys and values in eight bits, which a row sees from its own block on as floats.
//
// The scale of a channel is part of the query, and that of a value part of its weight: both are
// multiplied once for a block, and bytes become floats as they are loaded. Every row does so in the
// same order, be it alone or in a full tile.
#pragma once

#include "simd/kernels/attend_scores.hpp"
#include "simd/kernels/bytes/byte_scores.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

template <class B>
inline constexpr bool kIsRounded = sizeof(B) == 1;

/// The queries of a tile times the scales of a block of keys.
[[gnu::noinline]] inline void scale_queries(const AttendTask& task, const Tile& tile,
                                            std::int64_t key, float* to) {
  const Half* scales = task.key_scales + key / kCacheBlock * padded_channels(task.head_dim);
  for (std::int64_t c = 0; c < task.head_dim; c += kLanes) {
    const Vec scale = load_fp16(scales + c);
    const std::int64_t at = score_at(tile.rows, c, 0);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      store(to + at + r * kChunk, load(tile.queries + at + r * kChunk) * scale);
    }
  }
}

/// Scores of the tile against the seen panels of one block of `kCacheBlock` keys.
/// @param first of the block's keys, within `block`; @param keys its panels
/// @param to where the score of that key is
template <class B, int MR>
HEADROOM_INLINE void score_cache_block(const AttendTask& task, const Tile& tile,
                                       const KeyBlock& block, std::int64_t first, const B* keys,
                                       float* to, Vec (&row_max)[MR]) {
  std::int64_t i = block.first > first ? (block.first - first) / kPanel * kPanel : 0;
  const std::int64_t end = block.count - first < kCacheBlock ? block.count - first : kCacheBlock;
  if constexpr (kStreams<MR> && kStreamsPanels) {
    constexpr std::int64_t kKeys = kStreamVectors * kLanes;
    for (; i + kKeys - kLanes < end; i += kKeys) {
      stream_scores<B, MR>(task, tile, block, first + i, keys + i * task.head_dim, i, to, row_max);
    }
  }
  const auto score = [&]<int NV>(auto prefetcher) __attribute__((always_inline)) {
    score_keys<B, MR, NV>(task, tile, block, first + i, keys + i * task.head_dim,
                          to + score_at<MR>(i, 0), row_max, prefetcher);
  };
  if constexpr (kStreams<MR> && kIsRounded<B> && kPanel == kStreamDepth) {
    // Two panels at once where registers suffice: of few rows one is too few chains to have what
    // makes floats of bytes run beside them.
    constexpr int kWide = MR < kStreamRows<4> ? 4 : 2;
    constexpr std::int64_t kKeys = kWide * kLanes;
    for (; task.prefetches && i + kKeys - kLanes < end; i += kKeys) {
      const char* ahead = piece_ahead<B>(task, block, false, (first + i) / kStreamDepth);
      if (ahead == nullptr) break;
      score.template operator()<kWide>(
          PiecePrefetcher<kKeys * sizeof(B)>{ahead, task.ahead.into_l1});
    }
    for (; i + kKeys - kLanes < end; i += kKeys) {
      score.template operator()<kWide>(NoPrefetcher());
    }
  }
  for (; i + kLanes < end; i += kPanel) score.template operator()<2>(NoPrefetcher());
  if (i < end) {
    score_keys<B, MR, 1>(task, tile, block, first + i, keys + i * task.head_dim,
                         to + score_at<MR>(i, 0), row_max);
  }
}

/// How many of a tile's rows see the block at `key` as floats, as their own or not at all; the
/// others follow.
HEADROOM_INLINE std::int64_t fresh_rows(const AttendTask& task, const Tile& tile,
                                        std::int64_t key) {
  return clamp((key + kCacheBlock - task.position) * task.group - tile.row, 0, tile.rows);
}

/// The scores of a block of keys as floats, or as bytes.
/// @param first of the block's keys, within `block`
template <int MR>
HEADROOM_INLINE void score_fresh(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 std::int64_t first, float* to, Vec (&row_max)[MR]) {
  const std::int64_t place = block.begin + first - task.fresh_begin;
  score_cache_block<float, MR>(task, tile, block, first, task.fresh + place * task.head_dim, to,
                               row_max);
}
template <class B, int MR>
HEADROOM_INLINE void score_bytes(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 std::int64_t first, float* to, Vec (&row_max)[MR]) {
  const std::int64_t key = block.begin + first;
  const auto* keys = static_cast<const B*>(task.keys) + key * key_width<B>(task);
  Tile scaled = tile;
  scaled.queries = task.room;
  scale_queries(task, tile, key, scaled.queries);
  if constexpr (kMultipliesBytes<B>) {
    score_as_bytes<MR>(task, scaled, block, first, keys, to, row_max);
  } else {
    score_cache_block<B, MR>(task, scaled, block, first, keys, to, row_max);
  }
}

/// Where several rows are scored there are two calls of each.
template <int MR>
[[gnu::noinline]] void score_rows_fresh(const AttendTask& task, const Tile& tile,
                                        const KeyBlock& block, std::int64_t first, float* to,
                                        Vec (&row_max)[MR]) {
  score_fresh<MR>(task, tile, block, first, to, row_max);
}
template <class B, int MR>
[[gnu::noinline]] void score_rows_bytes(const AttendTask& task, const Tile& tile,
                                        const KeyBlock& block, std::int64_t first, float* to,
                                        Vec (&row_max)[MR]) {
  score_bytes<B, MR>(task, tile, block, first, to, row_max);
}

/// Of a block of keys that is the own one of the first `fresh` rows, or after theirs, and an
/// earlier one of the others: it is scored both ways, and of each row one is kept.
template <class B, int MR>
[[gnu::noinline]] void score_both(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                  std::int64_t first, std::int64_t fresh, float* to, Vec* row_max) {
  Vec unused[MR];
  for (int r = 0; r < MR; ++r) unused[r] = Vec(kMinusInfinity);
  float* rounded = task.room + kTileRows * padded_channels(task.head_dim);
  score_rows_fresh<MR>(task, tile, block, first, to, unused);
  score_rows_bytes<B, MR>(task, tile, block, first, rounded, unused);
  const std::int64_t begin = block.first > first ? (block.first - first) / kPanel * kPanel : 0;
  for (std::int64_t k = begin; k < kCacheBlock && first + k < block.count; k += kLanes) {
    for (std::int64_t r = 0; r < MR; ++r) {
      const std::int64_t at = score_at<MR>(k, r);
      const Vec kept = load((r < fresh ? to : rounded) + at);
      store(to + at, kept);
      row_max[r] = max_or_second(row_max[r], kept);
    }
  }
}

/// As `score_block`.
template <class B, int MR>
HEADROOM_INLINE void score_rounded(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   float* scores, float* max) {
  Vec row_max[MR];
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) row_max[r] = Vec(kMinusInfinity);
  for (std::int64_t k = block.first / kCacheBlock * kCacheBlock; k < block.count;
       k += kCacheBlock) {
    const std::int64_t fresh = fresh_rows(task, tile, block.begin + k);
    float* to = scores + score_at<MR>(k, 0);
    if constexpr (MR == 1) {
      if (fresh == 1) {
        score_fresh<MR>(task, tile, block, k, to, row_max);
      } else {
        score_bytes<B, MR>(task, tile, block, k, to, row_max);
      }
    } else if (fresh == MR) {
      score_rows_fresh<MR>(task, tile, block, k, to, row_max);
    } else if (fresh == 0) {
      score_rows_bytes<B, MR>(task, tile, block, k, to, row_max);
    } else {
      score_both<B, MR>(task, tile, block, k, fresh, to, row_max);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) max[r] = max_lanes(row_max[r]);
}

/// The weights of a block become those of its bytes.
[[gnu::noinline]] inline void weigh_bytes(const AttendTask& task, std::int64_t rows,
                                          const KeyBlock& block, float* weights) {
  for (std::int64_t k = block.first / kLanes * kLanes; k < block.count; k += kLanes) {
    const Vec scale = load_fp16(task.value_scales + block.begin + k);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* at = weights + score_at(rows, k, r);
      store(at, load(at) * scale);
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
