// Scores of few rows against keys that lie row by row, as the caller has them: dot products, for
// which nothing is packed. Their sums have another order than those over packed keys.
#pragma once

#include "simd/kernels/attend_rows.hpp"
#include "simd/kernels/fold.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Of one row against a vector's keys.
/// @param query its chunks, `step` floats apart
template <class B>
HEADROOM_INLINE Vec dot_keys(const float* query, std::int64_t step, const B* const (&keys)[kLanes],
                             std::int64_t head_dim) {
  Vec sums[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) sums[i] = Vec(0.0F);
  for (std::int64_t c = 0; c < head_dim; c += kLanes) {
    const Vec q = load(query + c / kChunk * step + c % kChunk);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) sums[i] = multiply_add(q, load(keys[i] + c), sums[i]);
  }
  return sum_each(sums);
}

/// Columns of keys that are copied once for all rows, rather than read by each.
inline constexpr std::int64_t kCopied = 128;

/// Of all rows of a tile, whose chunks lie together, against a vector's keys.
/// @param copies keys first, as those that are widened always are
template <class B>
HEADROOM_INLINE void dot_rows(const float* queries, std::int64_t rows,
                              const B* const (&keys)[kLanes], std::int64_t head_dim, bool copies,
                              Vec (&found)[kTileRows]) {
  const auto dot = [&](const auto& from) __attribute__((always_inline)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      found[r] = dot_keys(queries + r * kChunk, rows * kChunk, from, head_dim);
    }
  };
  if (rows > 1 && (copies || sizeof(B) < sizeof(float)) && head_dim <= kCopied) {
    alignas(64) float wide[kLanes * kCopied];
    const float* copied[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      copy_values_of(keys[i], head_dim, wide + i * kCopied);
      copied[i] = wide + i * kCopied;
    }
    dot(copied);
  } else {
    dot(keys);
  }
}

/// As `score_block`, for `AttendTask::as_rows`.
/// @pre `head_dim` is whole vectors
/// @tparam kOneRow whether the tile has one row, as in most steps
template <class B, bool kOneRow>
[[gnu::noinline]] void dot_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores, float* max) {
  const std::int64_t rows = kOneRow ? 1 : tile.rows;
  constexpr std::int64_t kLine = 64 / sizeof(B);
  constexpr std::int64_t kAhead = 2 * kLanes;  // keys
  const B* all = static_cast<const B*>(task.keys);
  const B* values = static_cast<const B*>(task.values);
  Vec row_max[kTileRows];
  KeyRange seen[kTileRows];
  for (std::int64_t r = 0; r < rows; ++r) {
    row_max[r] = Vec(kMinusInfinity);
    seen[r] = seen_keys(task, tile.row + r);
  }
  const std::int64_t last = task.key_count - 1;
  // Keys of heads side by side are often a power of two of bytes apart. Then 16 of them share so
  // few sets of the L1 that every row but the first would read them from the L2 (Zen 4: 1.2 to 2
  // times as fast).
  const bool copies = kLanes > 8 && task.key_stride != task.head_dim;
  for (std::int64_t k = block.first / kLanes * kLanes; k < block.count; k += kLanes) {
    const std::int64_t first = block.begin + k;
    const B* keys[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const std::int64_t key = first + i < last ? first + i : last;
      keys[i] = all + key * task.key_stride;
      const std::int64_t ahead = first + i + kAhead < last ? first + i + kAhead : last;
      for (std::int64_t c = 0; c < task.head_dim; c += kLine) {
        __builtin_prefetch(all + ahead * task.key_stride + c, 0, 3);
      }
      for (std::int64_t c = 0; c < task.value_dim; c += kLine) {
        __builtin_prefetch(values + key * task.value_stride + c, 0, 2);
      }
    }
    Vec found[kTileRows];
    dot_rows(tile.queries, rows, keys, task.head_dim, copies, found);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (!all_seen<1>(block, k)) [[unlikely]] {
        found[r] = only_between(found[r], seen[r].begin - first, seen[r].end - first);
      }
      store(scores + score_at(rows, k, r), found[r]);
      row_max[r] = max_or_second(row_max[r], found[r]);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) max[r] = max_lanes(row_max[r]);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
