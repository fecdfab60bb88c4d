// Weighted values: the weights of a tile times the values of a block of keys.
#pragma once

#include "simd/kernels/attend_tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Adds the values that only some rows see, row by row, so that a NaN in a masked value cannot leak
/// through a weight of 0. Of these the ones from `begin` to below `end`.
template <int NV, class B>
HEADROOM_INLINE void add_some_values(const AttendTask& task, const Tile& tile,
                                     const KeyBlock& block, const float* weights, const B* values,
                                     float* out, std::int64_t cols, std::int64_t begin,
                                     std::int64_t end) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const KeyRange seen = seen_keys(task, tile.row + r);
    const std::int64_t row_begin = clamp(seen.begin - block.begin, begin, end);
    const std::int64_t row_end = clamp(seen.end - block.begin, begin, end);
    if (row_begin >= row_end) continue;
    Vec sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = load(out + r * cols + v * kLanes);
    for (std::int64_t k = row_begin; k < row_end; ++k) {
      const Vec weight(weights[score_at(tile.rows, k, r)]);
      for (int v = 0; v < NV; ++v) {
        sum[v] = multiply_add(weight, load(values + k * task.value_stride + v * kLanes), sum[v]);
      }
    }
    for (int v = 0; v < NV; ++v) store(out + r * cols + v * kLanes, sum[v]);
  }
}

/// NV vectors of the output of ROWS rows from `FIRST` on: out += weights * values, for the keys
/// from `k` to below `end`, which all rows see.
template <int MR, int ROWS, int FIRST, int NV, class B, class Prefetcher = NoPrefetcher>
HEADROOM_INLINE void add_common_values(const AttendTask& task, const float* weights,
                                       const B* values, float* out, std::int64_t cols,
                                       std::int64_t k, std::int64_t end,
                                       Prefetcher prefetcher = {}) {
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
    depth_step<ROWS, NV, Prefetch::none>(acc, weights + score_at<MR>(k, FIRST), values + k * stride,
                                         kSideBySide);
  }
  accumulate<ROWS, NV, Prefetch::none, MR>(acc, weights + score_at<MR>(k, FIRST),
                                           values + k * stride, kSideBySide, end - k, stride,
                                           prefetcher);
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(out + (FIRST + r) * cols + v * kLanes, acc.v[r][v]);
  }
}

/// Calls `add.template operator()<NV>(c)` for groups of NV vectors from column `c` on; returns
/// where the rest is.
template <int NV, class Add>
HEADROOM_INLINE std::int64_t for_groups(std::int64_t c, std::int64_t cols, Add&& add) {
  for (; c + NV * kLanes <= cols; c += NV * kLanes) add.template operator()<NV>(c);
  return c;
}

/// The same for all columns, in groups as wide as possible, or of kMost vectors at most.
template <int kMost = kStreamVectors, class Add>
HEADROOM_INLINE void for_columns(std::int64_t cols, Add&& add) {
  std::int64_t c = 0;
  if constexpr (kMost >= kStreamVectors) c = for_groups<kStreamVectors>(0, cols, add);
  if constexpr (kMost >= 4 && kStreamVectors > 4) c = for_groups<4>(c, cols, add);
  c = for_groups<2>(c, cols, add);
  for_groups<1>(c, cols, add);
}

/// What add_some_values does, for all columns. Wide groups, because each vector of a row is one
/// chain of multiply-adds, and because the end of each row's keys surprises the processor.
template <class B>
HEADROOM_INLINE void add_some_rows(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   const float* weights, const B* values, std::int64_t cols,
                                   std::int64_t begin, std::int64_t end) {
  for_columns(
      cols, [&]<int NV>(std::int64_t c) __attribute__((always_inline)) {
        add_some_values<NV>(task, tile, block, weights, values + c, tile.state.out + c, cols, begin,
                            end);
      });
}

/// The values that all rows see, panel by panel.
template <int MR, class B>
HEADROOM_INLINE void add_panels(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                const float* weights, const B* values, std::int64_t cols) {
  const auto add = [&]<int NV>(std::int64_t c) __attribute__((always_inline)) {
    add_common_values<MR, MR, 0, NV>(task, weights, values + c, tile.state.out + c, cols,
                                     block.common_begin, block.common_end);
  };
  for_groups<1>(for_groups<2>(0, cols, add), cols, add);
}

/// The same, some keys at a time, so that one row after the other finds their values in the L1.
/// @tparam kPrefetches whether what it reads is prefetched. If so, no group of rows waits for
/// memory, and it is best to load, and widen, each vector once for all rows (4 rows: 1.02 to 1.14);
/// if not, 3 rows of 8 vectors that wait and 1 that does not are 1.5 times as fast (measured on Zen
/// 4).
template <int MR, bool kPrefetches, class B>
HEADROOM_INLINE void stream_values(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                   const float* weights, const B* values, std::int64_t cols) {
  constexpr int kMost = !kPrefetches || MR <= kStreamRows<kStreamVectors> ? kStreamVectors
                        : MR <= kStreamRows<4>                            ? 4
                                                                          : 2;
  for (std::int64_t k = block.common_begin; k < block.common_end;) {
    const std::int64_t whole = (k / kStreamDepth + 1) * kStreamDepth;
    const std::int64_t end = whole < block.common_end ? whole : block.common_end;
    for_columns<kMost>(
        cols, [&]<int NV>(std::int64_t c) __attribute__((always_inline)) {
          for_stream_rows<MR, NV>([&]<int ROWS, int FIRST>() __attribute__((always_inline)) {
            const auto add = [&](auto prefetcher) __attribute__((always_inline)) {
              add_common_values<MR, ROWS, FIRST, NV>(task, weights, values + c, tile.state.out + c,
                                                     cols, k, end, prefetcher);
            };
            if (kPrefetches && task.next_rows != nullptr) {
              add(NextRowsPrefetcher{task.next_rows});
              return;
            }
            if constexpr (kPrefetches && FIRST == 0) {
              constexpr std::int64_t kSize = sizeof(B);
              if (const char* ahead = piece_ahead<B>(task, block, true, k / kStreamDepth)) {
                add(PiecePrefetcher<NV * kLanes * kSize>{ahead + c * kStreamDepth * kSize,
                                                         task.ahead.into_l1});
                return;
              }
            }
            add(NoPrefetcher());
          });
        });
    k = end;
  }
}

/// The values that all rows see.
template <int MR, class B>
HEADROOM_INLINE void add_common_rows(const AttendTask& task, const Tile& tile,
                                     const KeyBlock& block, const float* weights, const B* values,
                                     std::int64_t cols) {
  if constexpr (kStreams<MR>) {
    // Values as the caller has them were prefetched beside the scores, or were just packed.
    if (task.as_rows || task.new_keys.data != nullptr || prefetches_pieces(task)) {
      stream_values<MR, kPanel == kStreamDepth>(task, tile, block, weights, values, cols);
    } else {
      stream_values<MR, false>(task, tile, block, weights, values, cols);
    }
  } else {
    add_panels<MR>(task, tile, block, weights, values, cols);
  }
}

/// The weighted values of the block are added to the output; for every row in the order of keys.
template <int MR, class B>
HEADROOM_INLINE void add_values(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                const float* weights, std::int64_t cols) {
  const B* values = static_cast<const B*>(task.values) + block.place * task.value_stride;
  const KeyRange parts[] = {{block.first, block.common_begin}, {block.common_end, block.count}};
  // A loop, so that what only some rows see is compiled once and not twice for each tile.
#pragma GCC unroll 1
  for (int i = 0; i < 2; ++i) {
    if (i == 1 && block.common_begin < block.common_end) {
      add_common_rows<MR>(task, tile, block, weights, values, cols);
    }
    const KeyRange part = parts[i];
    if (part.begin >= part.end) continue;
    add_some_rows(task, tile, block, weights, values, cols, part.begin, part.end);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
