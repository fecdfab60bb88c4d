// Queries, keys, values and output where the caller has them, as floats or as bfloat16.
#pragma once

#include "simd/kernels/attend_tile.hpp"
#include "simd/kernels/pack_keys.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Calls `f` with the query of a row.
template <class F>
HEADROOM_INLINE void with_query(const AttendTask& task, std::int64_t row, F&& f) {
  const RowPlace at = place_of(task, row);
  const std::int64_t place = at.token * task.q_stride + at.head * task.q_head_stride;
  with_rows_of(
      {task.q, task.q_dtype, 0}, [&](const auto* first)
                                     __attribute__((always_inline)) { f(first + place); });
}

/// One row of a tile of so many rows.
template <class A>
HEADROOM_INLINE void pack_query(const A* from, std::int64_t head_dim, std::int64_t rows,
                                float* to) {
  for (std::int64_t c = 0; c < head_dim; c += kChunk, to += rows * kChunk) {
    const std::int64_t width = head_dim - c < kChunk ? head_dim - c : kChunk;
    copy_values_of(from + c, width, to);
  }
}

/// A row of the output: sums times their factor.
template <class A>
HEADROOM_INLINE void write_row(const float* from, const Vec& factor, std::int64_t width, A* to) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) store(to + c, load(from + c) * factor);
  if (c < width) {
    A lane[kLanes];
    store(lane, load(from + c) * factor);
    for (std::int64_t i = 0; c + i < width; ++i) to[c + i] = lane[i];
  }
}

/// Prefetches a vector's rows from row `t` on, of `count` that there are.
template <class A>
HEADROOM_INLINE void prefetch_rows(const A* rows, std::int64_t stride, std::int64_t width,
                                   std::int64_t t, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(A);
  for (const std::int64_t end = t + kLanes < count ? t + kLanes : count; t < end; ++t) {
    for (std::int64_t c = 0; c < width; c += kLine) {
      __builtin_prefetch(rows + t * stride + c, 0, 3);
    }
  }
}

/// @param new_keys, new_values those from `begin` on
template <class A>
HEADROOM_INLINE void pack_block_of(AttendTask& task, std::int64_t begin, const A* new_keys,
                                   const A* new_values) {
  const std::int64_t rest = task.key_count - begin;
  const std::int64_t count = rest < kKeyBlock ? rest : kKeyBlock;
  const std::int64_t head_dim = task.head_dim;
  const std::int64_t value_dim = task.value_dim;
  const std::int64_t cols = padded_cols(task);
  const std::int64_t stride = task.new_keys.stride;
  const std::int64_t value_stride = task.new_values.stride;
  float* keys = task.room;
  float* values = task.room + kKeyBlock * head_dim;
  const bool in_place = sizeof(A) == sizeof(float) && cols == value_dim;
  for (std::int64_t t = 0; t < count; t += kLanes) {
    const std::int64_t some = count - t < kLanes ? count - t : kLanes;
    prefetch_rows(new_keys, stride, head_dim, t + kLanes, rest);
    prefetch_rows(new_values, value_stride, value_dim, in_place ? t : t + kLanes, rest);
    pack_keys_of(new_keys + t * stride, stride, t, some, head_dim, keys);
    if (in_place) continue;
    for (std::int64_t i = t; i < t + some; ++i) {
      copy_values_of(new_values + i * value_stride, value_dim, values + i * cols);
    }
  }
  // What is scored beside the last key is masked; it must be no denormal or NaN.
  for (std::int64_t t = count; t % kPanel != 0; ++t) {
    for (std::int64_t c = 0; c < head_dim; ++c) {
      keys[t / kPanel * kPanel * head_dim + c * kPanel + t % kPanel] = 0;
    }
  }
  task.keys = keys;
  task.values = in_place ? static_cast<const void*>(new_values) : values;
  task.value_stride = in_place ? value_stride : cols;
}

/// Packs the block of keys from `begin` on, which one tile is about to read: with few rows it is
/// memory that is waited for, and what is packed before all is read twice. Rows are prefetched a
/// vector of keys ahead, and the block's values meanwhile.
[[gnu::noinline]] inline void pack_block(AttendTask& task, std::int64_t begin) {
  with_rows_of(
      task.new_keys, [&](const auto* keys) __attribute__((always_inline)) {
        const auto* values = static_cast<decltype(keys)>(task.new_values.data);
        pack_block_of(task, begin, keys + begin * task.new_keys.stride,
                      values + begin * task.new_values.stride);
      });
}

/// The rows of the block after that from `begin` on; none where they do not lie side by side.
HEADROOM_INLINE NextRows rows_after(const AttendTask& task, std::int64_t begin) {
  NextRows next;
  if (task.new_keys.stride != task.head_dim) return next;
  with_rows_of(
      task.new_keys, [&](const auto* keys) __attribute__((always_inline)) {
        const auto at = [&](std::int64_t key) {
          return reinterpret_cast<const char*>(keys +
                                               clamp(key, 0, task.key_count) * task.head_dim);
        };
        next = {at(begin + kKeyBlock), at(begin + 2 * kKeyBlock)};
      });
  return next;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
