// Transposes keys into panels, so that a score is a chain over head_dim like any other product.
#pragma once

#include <utility>

#include "simd/kernel_table.hpp"
#include "simd/kernels/fold.hpp"
#include "simd/kernels/rows.hpp"
#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

template <int D>
HEADROOM_INLINE void transpose(Vec (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    if ((r & D) == 0) {
      exchange<D>(rows[r], rows[r + D], std::make_integer_sequence<int, kLanes>());
    }
  }
  if constexpr (D > 1) transpose<D / 2>(rows);
}

/// Some keys of one panel, element by element: what does not fill a square of lanes.
/// @param panel at the first of these keys
template <class A, class B>
HEADROOM_INLINE void pack_some(const A* keys, std::int64_t stride, std::int64_t count,
                               std::int64_t begin, std::int64_t end, B* panel) {
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t c = begin; c < end; ++c)
      store_one(panel + c * kPanel + t, load_one(keys + t * stride + c));
  }
}

/// A vector's keys, which fill their half of a panel.
template <class A, class B>
HEADROOM_INLINE void pack_vector(const A* keys, std::int64_t stride, std::int64_t head_dim,
                                 B* panel) {
  const std::int64_t square = head_dim / kLanes * kLanes;
  for (std::int64_t c = 0; c < square; c += kLanes) {
    Vec rows[kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) rows[r] = load(keys + r * stride + c);
    transpose<kLanes / 2>(rows);
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) store(panel + (c + r) * kPanel, rows[r]);
  }
  pack_some(keys, stride, kLanes, square, head_dim, panel);
}

template <class A, class B>
HEADROOM_INLINE void pack_keys_of(const A* keys, std::int64_t stride, std::int64_t position,
                                  std::int64_t count, std::int64_t head_dim, B* panels) {
  for (std::int64_t t = 0; t < count;) {
    const std::int64_t at = position + t;
    B* panel = panels + at / kPanel * kPanel * head_dim + at % kPanel;
    const std::int64_t room = kLanes - at % kLanes;
    const std::int64_t rest = count - t;
    const A* from = keys + t * stride;
    if (room == kLanes && rest >= kLanes) {
      pack_vector(from, stride, head_dim, panel);
      t += kLanes;
    } else {
      const std::int64_t some = rest < room ? rest : room;
      pack_some(from, stride, some, 0, head_dim, panel);
      t += some;
    }
  }
}

template <class B>
void pack_keys(const RowsOf& keys, std::int64_t position, std::int64_t count, std::int64_t head_dim,
               void* panels) {
  with_rows_of(
      keys, [&](const auto* from) __attribute__((always_inline)) {
        pack_keys_of(from, keys.stride, position, count, head_dim, static_cast<B*>(panels));
      });
}

template <class B>
void copy_values(const void* from, Dtype dtype, std::int64_t count, void* to) {
  with_rows_of(
      {from, dtype, 0}, [&](const auto* values) __attribute__((always_inline)) {
        copy_values_of(values, count, static_cast<B*>(to));
      });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
