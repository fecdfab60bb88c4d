// Scores of few rows against keys that lie row by row, as the caller has them: dot products, for
// which nothing is packed. Their sums have another order than those over packed keys.
#pragma once

#include "simd/kernels/attend_rows.hpp"
#include "simd/kernels/fold.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// How far ahead of those that are scored keys are prefetched.
inline constexpr std::int64_t kKeysAhead = 2 * kLanes;

/// Prefetches while a vector's keys are scored: keys two vectors ahead, into the L1, and the
/// values of these, into the L2. Some lines with each step, in the order in which they lie: all at
/// once would take every place for misses that the core has, and what is computed would wait.
class DotPrefetcher {
 public:
  /// @param keys, values of as many tokens as a vector has lanes
  /// @param steps that there will be
  template <class B>
  HEADROOM_INLINE DotPrefetcher(const AttendTask& task, const B* keys, const B* values,
                                std::int64_t steps)
      : key_(reinterpret_cast<const char*>(keys)),
        value_(reinterpret_cast<const char*>(values)),
        key_bytes_(task.key_stride * static_cast<std::int64_t>(sizeof(B))),
        value_bytes_(task.value_stride * static_cast<std::int64_t>(sizeof(B))) {
    const std::int64_t width = task.head_dim > task.value_dim ? task.head_dim : task.value_dim;
    row_bytes_ = width * static_cast<std::int64_t>(sizeof(B));
    left_ = (row_bytes_ + kLineBytes - 1) / kLineBytes * kLanes;
    per_step_ = (left_ + steps - 1) / steps;
  }

  HEADROOM_INLINE void step() {
    std::int64_t count = per_step_ < left_ ? per_step_ : left_;
    left_ -= count;
    for (; count > 0; --count) {
      // Past the last key it is harmless.
      __builtin_prefetch(key_ + at_, 0, 3);
      __builtin_prefetch(value_ + at_, 0, 2);
      at_ += kLineBytes;
      if (at_ < row_bytes_) continue;
      at_ = 0;
      key_ += key_bytes_;
      value_ += value_bytes_;
    }
  }

 private:
  const char* key_;
  const char* value_;
  std::int64_t key_bytes_, value_bytes_;  ///< to the next
  std::int64_t row_bytes_ = 0;
  std::int64_t at_ = 0;  ///< within a row
  std::int64_t left_ = 0, per_step_ = 0;
};

/// The same for one row, which computes too little for anything to stand beside: a token at once,
/// as its key's place is found. In a loop after that it is 5 % slower.
template <class B>
HEADROOM_INLINE void prefetch_token(const AttendTask& task, const B* key, const B* value) {
  constexpr std::int64_t kLine = kLineBytes / sizeof(B);
  for (std::int64_t c = 0; c < task.head_dim; c += kLine) __builtin_prefetch(key + c, 0, 3);
  for (std::int64_t c = 0; c < task.value_dim; c += kLine) __builtin_prefetch(value + c, 0, 2);
}

/// Of one row against a vector's keys.
/// @param query its chunks, `step` floats apart
template <class B, class Prefetcher>
HEADROOM_INLINE Vec dot_keys(const float* query, std::int64_t step, const B* const (&keys)[kLanes],
                             std::int64_t head_dim, Prefetcher& prefetcher) {
  Vec sums[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) sums[i] = Vec(0.0F);
  for (std::int64_t c = 0; c < head_dim; c += kLanes) {
    prefetcher.step();
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
template <class B, class Prefetcher>
HEADROOM_INLINE void dot_rows(const float* queries, std::int64_t rows,
                              const B* const (&keys)[kLanes], std::int64_t head_dim, bool copies,
                              Prefetcher& prefetcher, Vec (&found)[kTileRows]) {
  const auto dot = [&](const auto& from) __attribute__((always_inline)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      found[r] = dot_keys(queries + r * kChunk, rows * kChunk, from, head_dim, prefetcher);
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
      if constexpr (kOneRow) {
        const std::int64_t ahead = first + i + kKeysAhead < last ? first + i + kKeysAhead : last;
        prefetch_token(task, all + ahead * task.key_stride, values + key * task.value_stride);
      }
    }
    Vec found[kTileRows];
    if constexpr (kOneRow) {
      NoPrefetcher none;
      dot_rows(tile.queries, rows, keys, task.head_dim, copies, none, found);
    } else {
      DotPrefetcher prefetcher(task, all + (first + kKeysAhead) * task.key_stride,
                               values + first * task.value_stride, rows * (task.head_dim / kLanes));
      dot_rows(tile.queries, rows, keys, task.head_dim, copies, prefetcher, found);
    }
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
