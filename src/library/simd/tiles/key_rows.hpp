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

  /// Some channels of the r-th key.
  /// @tparam kWhole all keys are there, and so are all channels that are asked for
  template <bool kWhole>
  HEADROOM_INLINE Vec at(std::int64_t r, std::int64_t c) const {
    if (!kWhole && (r >= count || c >= head_dim)) return Vec(0.0F);
    const A* from = first + r * stride + c;
    if (kWhole || c + kLanes <= head_dim) return load(from);
    alignas(64) A rest[kLanes] = {};
    for (std::int64_t i = 0; c + i < head_dim; ++i) rest[i] = from[i];
    return load(rest);
  }
};

/// One part: pairs of channels are cut where they lie, and transposed as pairs, which is half of
/// the shuffles.
template <class S, bool kWhole, class A>
HEADROOM_INLINE void cut_square_of_pairs(const KeyRows<A>& keys, std::int64_t c, std::uint16_t* to,
                                         Sizes& sizes) {
  Vec pairs[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    const Vec first = keys.template at<kWhole>(r, c);
    const Vec second = keys.template at<kWhole>(r, c + kLanes);
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
template <class S, bool kWhole, class A>
HEADROOM_INLINE void cut_square(const KeyRows<A>& keys, std::int64_t c, std::uint16_t* to,
                                Sizes& sizes) {
  Vec channels[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    channels[r] = keys.template at<kWhole>(r, c);
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
template <class S, bool kWhole, class A>
HEADROOM_INLINE Sizes cut_key_columns(const KeyRows<A>& keys, std::int64_t depth,
                                      std::uint16_t* out) {
  constexpr bool kPairs = S::kRight == 1;
  Sizes sizes;
  for (std::int64_t c = 0; c < depth; c += kPairs ? 2 * kLanes : kLanes) {
    std::uint16_t* to = out + c / kTileDepth * S::kRight * kRightStep + c % kTileDepth * kTileBlock;
    if constexpr (kPairs) {
      cut_square_of_pairs<S, kWhole>(keys, c, to, sizes);
    } else {
      cut_square<S, kWhole>(keys, c, to, sizes);
    }
  }
  return sizes;
}

/// Whether parts cannot carry a number of a row.
template <class A>
HEADROOM_INLINE bool has_bad(const A* row, std::int64_t width) {
  Sizes sizes;
  for (std::int64_t c = 0; c < width; c += kLanes) {
    sizes.see(bits_of(KeyRows<A>{row, 0, 1, width}.template at<false>(0, c)));
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
    const bool all = rows.count == kLanes && head_dim == depth;
    const Sizes sizes = all ? cut_key_columns<S, true>(rows, depth, to)
                            : cut_key_columns<S, false>(rows, depth, to);
    const bool bad = sizes.has_bad();
    any_bad = any_bad || bad;
    for (std::int64_t i = 0; i < kLanes; ++i) {
      skip[k + i] = bad && i < rows.count && has_bad(rows.first + i * stride, head_dim);
    }
  }
  return any_bad;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
