// Keys cut into parts straight from the rows that the caller has: they are in no panels before.
#pragma once

#include "simd/kernels/attend_rows.hpp"
#include "simd/tiles/operands.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The keys of a vector, `count` of which are there; the others are zeros.
template <class A>
struct KeyRows {
  const A* first;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t head_dim;
};

/// Some channels of a vector's keys, all of which can be read.
template <class A>
struct KeySquare {
  const A* first;
  std::int64_t stride;

  HEADROOM_INLINE Vec at(std::int64_t r, std::int64_t c) const {
    return load(first + r * stride + c);
  }
};

/// What is there of `width` channels from `c` on, among zeros.
template <class A>
[[gnu::noinline]] void copy_square(const KeyRows<A>& keys, std::int64_t c, std::int64_t width,
                                   A* to) {
  const std::int64_t channels = clamp(keys.head_dim - c, 0, width);
  for (std::int64_t r = 0; r < kLanes; ++r) {
    const std::int64_t some = r < keys.count ? channels : 0;
    const A* from = keys.first + r * keys.stride + c;
    for (std::int64_t i = 0; i < some; ++i) to[r * width + i] = from[i];
    for (std::int64_t i = some; i < width; ++i) to[r * width + i] = A{};
  }
}

/// From channel `c` on: the keys themselves or, where some are missing, a copy.
template <int WIDTH, class A>
HEADROOM_INLINE KeySquare<A> square_of(const KeyRows<A>& keys, std::int64_t c,
                                       A (&copy)[kLanes * WIDTH]) {
  if (keys.count == kLanes && c + WIDTH <= keys.head_dim) return {keys.first + c, keys.stride};
  copy_square(keys, c, WIDTH, copy);
  return {copy, WIDTH};
}

/// One part: pairs of channels are cut where they lie, and transposed as pairs, which is half of
/// the shuffles.
template <class S, class A>
HEADROOM_INLINE void cut_square_of_pairs(const KeySquare<A>& keys, std::uint16_t* to,
                                         Sizes& sizes) {
  Vec pairs[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    const Vec first = keys.at(r, 0);
    const Vec second = keys.at(r, kLanes);
    sizes.see(bits_of(first));
    sizes.see(bits_of(second));
    TwoHalves parts[Parts<S::kPrecision>::kCount];
    cut_neighbours<S::kPrecision>(first, second, parts);
    pairs[r] = vec_of(__builtin_bit_cast(Bits, parts[0]));
  }
  transpose<kLanes / 2>(pairs);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    __builtin_memcpy(to + r * kRightRow, &pairs[r], sizeof(pairs[r]));
  }
}

/// Several parts: each is a few instructions after the transpose, and would be a transpose before
/// it.
template <class S, class A>
HEADROOM_INLINE void cut_square(const KeySquare<A>& keys, std::uint16_t* to, Sizes& sizes) {
  Vec channels[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    channels[r] = keys.at(r, 0);
    sizes.see(bits_of(channels[r]));
  }
  transpose<kLanes / 2>(channels);
#pragma GCC unroll 8
  for (int r = 0; r < kLanes; r += 2) {
    TwoHalves parts[S::kRight];
    cut_pairs<S::kPrecision>(channels[r], channels[r + 1], parts);
#pragma GCC unroll 3
    for (int p = 0; p < S::kRight; ++p) {
      __builtin_memcpy(to + p * kRightStep + r / 2 * kRightRow, &parts[p], sizeof(parts[p]));
    }
  }
}

/// A vector's keys become columns of right tiles, as `cut_columns` makes them of panels.
/// @return what magnitudes were seen
template <class S, class A>
HEADROOM_INLINE Sizes cut_key_columns(const KeyRows<A>& keys, std::int64_t depth,
                                      std::uint16_t* out) {
  constexpr bool kPairs = S::kRight == 1;
  constexpr int kWidth = kPairs ? 2 * kLanes : kLanes;
  alignas(64) A copy[kLanes * kWidth];
  Sizes sizes;
  for (std::int64_t c = 0; c < depth; c += kWidth) {
    std::uint16_t* to = out + c / kTileDepth * S::kRight * kRightStep + c % kTileDepth * kTileBlock;
    const KeySquare<A> square = square_of<kWidth>(keys, c, copy);
    if constexpr (kPairs) {
      cut_square_of_pairs<S>(square, to, sizes);
    } else {
      cut_square<S>(square, to, sizes);
    }
  }
  return sizes;
}

/// Whether parts cannot carry a number of a row.
template <class A>
[[gnu::noinline]] bool has_bad(const A* row, std::int64_t width) {
  Sizes sizes;
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) sizes.see(bits_of(load(row + c)));
  if (c < width) {
    alignas(64) A rest[kLanes] = {};
    for (std::int64_t i = 0; c + i < width; ++i) rest[i] = row[c + i];
    sizes.see(bits_of(load(rest)));
  }
  return sizes.has_bad();
}

/// Keys `first` (a multiple of 32) to below `count` of a block, 32 after the other.
/// @param keys the block's first one; @param left that there are from it on
/// @param skip of each whether parts cannot carry it
/// @return whether any is marked
template <class S, class A>
HEADROOM_INLINE bool cut_key_rows(const A* keys, std::int64_t stride, std::int64_t left,
                                  std::int64_t head_dim, std::int64_t first, std::int64_t count,
                                  std::uint16_t* out, unsigned char* skip) {
  const std::int64_t depth = whole(head_dim, kTileDepth);
  const std::int64_t end = whole(count, kTileBlock);
  bool any_bad = false;
  for (std::int64_t k = first; k < end; k += kLanes) {
    prefetch_rows(keys, stride, head_dim, k + 2 * kLanes, left);
    const KeyRows<A> rows{keys + k * stride, stride, clamp(left - k, 0, kLanes), head_dim};
    std::uint16_t* to = out + k / kTileBlock * kTileBlock * depth * S::kRight + k % kTileBlock * 2;
    const bool bad = cut_key_columns<S>(rows, depth, to).has_bad();
    any_bad = any_bad || bad;
    for (std::int64_t i = 0; i < kLanes; ++i) {
      skip[k + i] = bad && i < rows.count && has_bad(rows.first + i * stride, head_dim);
    }
  }
  return any_bad;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
