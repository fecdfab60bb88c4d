// Weighted values by products of bytes: weights times the scales of their values, rounded by groups
// of keys to bytes without a sign, against the bytes of the values. Sums within a group are
// integers; groups are added in order.
#pragma once

#include "simd/kernels/attend_tile.hpp"
#include "simd/kernels/bytes/byte_groups.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Vectors of columns whose sums stay in registers beside a word of values and a weight.
template <int MR>
inline constexpr int kByteColumns = MR * 4 + 5 <= 2 * kTileRows + 4 ? 4 : 2;

/// NV vectors of the output of all rows: out += weights * values, for one group of keys.
/// @param weights the first of the rows', neighbours
/// @param ahead what is prefetched meanwhile, of the same size
template <int MR, int NV, bool kPrefetches>
HEADROOM_INLINE void add_group(const ByteGroups& weights, std::int64_t first,
                               const std::uint8_t* values, std::int64_t word_bytes, float* out,
                               std::int64_t cols, const char* ahead, bool into_l1) {
  const std::int32_t* words = weights.words + first * kCacheGroupWords;
  Ints sums[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR * NV; ++i) {
    sums[i / NV][i % NV] = kHasStarts<false> ? Ints{} + weights.starts[first + i / NV] : Ints{};
  }
#pragma GCC unroll 2
  for (int w = 0; w < kGroup / 4; ++w) {
    Bits bytes[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      __builtin_memcpy(&bytes[v], values + w * word_bytes + v * kLanes * 4, sizeof(Bits));
      bytes[v] = alike(bytes[v]);
      if constexpr (kPrefetches) prefetch_ahead(ahead + w * word_bytes + v * kLanes * 4, into_l1);
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        sums[r][v] =
            add_signed_dots(sums[r][v], bytes[v], words + r * kCacheGroupWords + w, kSecondPair);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
    const Vec scale(weights.scales[first + r]);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      float* at = out + r * cols + v * kLanes;
      store(at, multiply_add(floats_of(sums[r][v]), scale, load(at)));
    }
  }
}

/// As `add_values`, of weights times the scales of their values.
template <int MR>
HEADROOM_INLINE void add_values_as_bytes(const AttendTask& task, const Tile& tile,
                                         const KeyBlock& block, const float* weights,
                                         std::int64_t cols) {
  const std::int64_t begin = block.first / kGroup;
  const std::int64_t end = (block.count + kGroup - 1) / kGroup;
  const std::int64_t count = (end - begin) * MR;
  const ByteGroups groups(task.room + rounded_room_floats(kTileRows, task.head_dim), count);
  KeyRange seen[MR];
  for (int r = 0; r < MR; ++r) {
    const KeyRange all = seen_keys(task, tile.row + r);
    seen[r] = {clamp(all.begin - block.begin, 0, kKeyBlock),
               clamp(all.end - block.begin, 0, kKeyBlock)};
  }
  // A key that a row does not see counts as one with a weight of 0, whatever its value is.
  round_groups<false>(
      count, groups, [&](std::int64_t i, int v) __attribute__((always_inline)) {
        const std::int64_t k = (begin + i / MR) * kGroup + v * kLanes;
        const Vec some = load(weights + score_at<MR>(k, i % MR));
        if (k >= block.common_begin && k + kLanes <= block.common_end) return some;
        const KeyRange of_row = seen[i % MR];
        const auto zero = Vec(0.0F);
        return xsimd::select(lanes_below(of_row.begin - k), zero,
                             xsimd::select(lanes_below(of_row.end - k), some, zero));
      });
  const std::int64_t word_bytes = task.value_stride * 4;
  for (std::int64_t g = begin; g < end; ++g) {
    const std::int64_t first = (g - begin) * MR;
    for (int r = 0; r < MR; ++r) {
      // A sum that is -0 stays so where there is nothing to add.
      if (seen[r].end <= g * kGroup || seen[r].begin >= (g + 1) * kGroup)
        groups.scales[first + r] = -0.0F;
    }
    const auto* values = static_cast<const std::uint8_t*>(task.values) +
                         (block.begin + g * kGroup) * task.value_stride;
    const char* ahead = nullptr;
    if constexpr (kStreams<MR> && kGroup == kStreamDepth) {
      if (task.prefetches) ahead = piece_ahead<CacheByte>(task, block, true, g);
    }
    const auto add = [&]<int NV>(std::int64_t c) __attribute__((always_inline)) {
      float* out = tile.state.out + c;
      if constexpr (kStreams<MR> && kGroup == kStreamDepth) {
        if (ahead != nullptr) {
          add_group<MR, NV, true>(groups, first, values + c * 4, word_bytes, out, cols,
                                  ahead + c * 4, task.ahead.into_l1);
          return;
        }
      }
      add_group<MR, NV, false>(groups, first, values + c * 4, word_bytes, out, cols, nullptr,
                               false);
    };
    std::int64_t c = 0;
    if constexpr (kByteColumns<MR> == 4) {
      for (; c + 4 * kLanes <= cols; c += 4 * kLanes) add.template operator()<4>(c);
    }
    for (; c + 2 * kLanes <= cols; c += 2 * kLanes) add.template operator()<2>(c);
    for (; c < cols; c += kLanes) add.template operator()<1>(c);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
