// Scores by products of bytes: queries times the scales of a block of keys, rounded by groups of
// channels, against the bytes of the keys. Sums within a group are integers; groups are added in
// order. So a score has the same bits in every tile.
#pragma once

#include "simd/kernels/attend_scores.hpp"
#include "simd/kernels/bytes/byte_groups.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Rows whose sums of integers and of floats stay in registers.
inline constexpr int kByteSumRows = (kTileRows + 1) / 2;

/// Vectors of keys that rows are multiplied with at once: enough chains to hide the latency of a
/// product.
template <int MR>
inline constexpr int kByteKeys = MR * 4 <= kTileRows&& kPanel == kStreamDepth ? 4 : 2;

/// Of ROWS rows of the tile from `FIRST` on.
/// @param keys their panel, or the first of neighbours
template <int MR, int ROWS, int FIRST, int NV, class Prefetcher>
HEADROOM_INLINE void dot_groups(const ByteGroups& queries, const CacheByte* keys,
                                std::int64_t width, Accumulators<MR, NV>& acc,
                                Prefetcher prefetcher) {
  constexpr int kWords = kGroup / 4;
  constexpr std::int64_t kWordBytes = kPanel * 4;
  const std::int32_t* words = queries.words + FIRST * kCacheGroupWords;
  const float* scales = queries.scales + FIRST;
  const std::int32_t* starts = queries.starts + FIRST;
  Vec all[ROWS][NV];
#pragma GCC unroll 16
  for (int i = 0; i < ROWS * NV; ++i) all[i / NV][i % NV] = Vec(0.0F);
  for (std::int64_t c = 0; c < width; c += kGroup) {
    Ints sums[ROWS][NV];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        sums[r][v] = kHasStarts<true> ? Ints{} + starts[r] : Ints{};
      }
    }
#pragma GCC unroll 2
    for (int w = 0; w < kWords; ++w) {
      prefetcher.step();
      Bits bytes[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        __builtin_memcpy(&bytes[v],
                         keys + (v / 2) * kPanel * width + w * kWordBytes + (v % 2) * kLanes * 4,
                         sizeof(Bits));
        bytes[v] = alike(bytes[v]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          sums[r][v] =
              add_dots(sums[r][v], bytes[v], words + r * kCacheGroupWords + w, kSecondPair);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      const Vec scale(scales[r]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        all[r][v] = multiply_add(floats_of(sums[r][v]), scale, all[r][v]);
      }
    }
    keys += kWords * kWordBytes;
    words += MR * kCacheGroupWords;
    scales += MR;
    starts += MR;
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) acc.v[FIRST + r][v] = all[r][v];
  }
}

/// Of all rows. The first ones read the keys from memory, and prefetch.
template <int MR, int NV, int FIRST = 0, class Prefetcher>
HEADROOM_INLINE void dot_rows_of_groups(const ByteGroups& queries, const CacheByte* keys,
                                        std::int64_t width, Accumulators<MR, NV>& acc,
                                        Prefetcher prefetcher) {
  if constexpr (FIRST < MR) {
    constexpr int kRows = MR - FIRST < kByteSumRows ? MR - FIRST : kByteSumRows;
    dot_groups<MR, kRows, FIRST>(queries, keys, width, acc, prefetcher);
    dot_rows_of_groups<MR, NV, FIRST + kRows>(queries, keys, width, acc, NoPrefetcher());
  }
}

/// As `score_cache_block`.
/// @param tile with its queries times the scales of the block
template <int MR>
HEADROOM_INLINE void score_as_bytes(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                    std::int64_t first, const CacheByte* keys, float* to,
                                    Vec (&row_max)[MR]) {
  const std::int64_t width = key_width<CacheByte>(task);
  const std::int64_t groups = width / kGroup;
  const ByteGroups queries(task.room + rounded_room_floats(kTileRows, task.head_dim), groups * MR);
  round_groups<true>(
      groups * MR, queries, [&](std::int64_t i, int v) __attribute__((always_inline)) {
        const std::int64_t c = i / MR * kGroup + v * kLanes;
        if (c >= task.head_dim) return Vec(0.0F);
        const Vec some =
            load(tile.queries + c / kChunk * kChunk * MR + i % MR * kChunk + c % kChunk);
        if (c + kLanes <= task.head_dim) return some;
        return xsimd::select(lanes_below(task.head_dim - c), some, Vec(0.0F));
      });
  std::int64_t i = block.first > first ? (block.first - first) / kPanel * kPanel : 0;
  const std::int64_t end = block.count - first < kCacheBlock ? block.count - first : kCacheBlock;
  const auto score = [&]<int NV>(std::int64_t k, auto prefetcher) __attribute__((always_inline)) {
    Accumulators<MR, NV> acc;
    dot_rows_of_groups<MR, NV>(queries, keys + k * width, width, acc, prefetcher);
    finish_scores<MR, NV>(task, tile, block, first + k, acc, to + score_at<MR>(k, 0), row_max);
  };
  constexpr int kWide = kByteKeys<MR>;
  if constexpr (kStreams<MR> && kPanel == kStreamDepth) {
    for (; task.prefetches && i + (kWide - 1) * kLanes < end; i += kWide * kLanes) {
      const char* ahead = piece_ahead<CacheByte>(task, block, false, (first + i) / kStreamDepth);
      if (ahead == nullptr) break;
      score.template operator()<kWide>(
          i, PiecePrefetcher<kWide * kLanes * 4>{ahead, task.ahead.into_l1});
    }
  }
  for (; i + (kWide - 1) * kLanes < end; i += kWide * kLanes) {
    score.template operator()<kWide>(i, NoPrefetcher());
  }
  for (; i < end; i += 2 * kLanes) score.template operator()<2>(i, NoPrefetcher());
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
