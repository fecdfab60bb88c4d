// Cutting float32 operands into bfloat16 parts, in the order in which tiles are read.
#pragma once

#include "simd/tiles/operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr int kBlockVectors = static_cast<int>(kTileBlock) / kLanes;

/// Row `r` of 32 becomes a row of the left tiles of `steps` tile products. What is missing is zero.
/// @param x null: zeros
/// @return what magnitudes were seen
template <Precision P, class A>
HEADROOM_INLINE Sizes cut_row(const A* x, std::int64_t depth, std::int64_t steps, std::int64_t r,
                              std::uint16_t* out) {
  constexpr int kCount = Parts<P>::kCount;
  Sizes sizes;
  out += r * kTileDepth;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += 2 * kLanes) {
    Vec first(0.0F);
    Vec second(0.0F);
    if (x != nullptr && k + 2 * kLanes <= depth) {
      first = load(x + k);
      second = load(x + k + kLanes);
    } else if (x != nullptr && k < depth) {
      alignas(64) A rest[2 * kLanes] = {};
      for (std::int64_t i = 0; i < depth - k; ++i) rest[i] = x[k + i];
      first = load(rest);
      second = load(rest + kLanes);
    }
    sizes.see(bits_of(first));
    sizes.see(bits_of(second));
    TwoHalves parts[kCount];
    cut_neighbours<P>(first, second, parts);
    std::uint16_t* to = out + k / kTileDepth * kCount * kLeftStep + k % kTileDepth;
#pragma GCC unroll 3
    for (int p = 0; p < kCount; ++p) {
      __builtin_memcpy(to + p * kLeftStep, &parts[p], sizeof(parts[p]));
    }
  }
  return sizes;
}

/// A vector's columns of a right operand; null: zeros.
template <class B>
struct Columns {
  const B* first = nullptr;
  std::int64_t stride = 0;  ///< from one row of the depth to the next
};

/// 32 columns become right tiles: pairs of neighbours along the depth lie side by side, one row of
/// 32 pairs after the other, `depth` filled up with zeros to whole tile products.
/// @param skip of each row of the depth whether it counts as zeros; null: none does
/// @param sizes what magnitudes were seen in each vector of columns
/// @tparam kApart rows of the depth lie so far apart that no processor expects the next ones
template <class S, bool kApart = false, class B>
HEADROOM_INLINE void cut_columns(const Columns<B> (&columns)[kBlockVectors], std::int64_t depth,
                                 std::int64_t steps, const unsigned char* skip, std::uint16_t* out,
                                 Sizes (&sizes)[kBlockVectors]) {
  constexpr int kCount = S::kRight;
  constexpr std::int64_t kAhead = 24;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += 2) {
    const bool even = k < depth && (skip == nullptr || skip[k] == 0);
    const bool odd = k + 1 < depth && (skip == nullptr || skip[k + 1] == 0);
    std::uint16_t* to = out + k / kTileDepth * kCount * kRightStep + k % kTileDepth * kTileBlock;
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) {
      const Columns<B>& from = columns[v];
      const bool here = from.first != nullptr;
      if (kApart && here && k + kAhead + 1 < depth) {
        __builtin_prefetch(from.first + (k + kAhead) * from.stride, 0, 3);
        __builtin_prefetch(from.first + (k + kAhead + 1) * from.stride, 0, 3);
      }
      const Vec upper = even && here ? load(from.first + k * from.stride) : Vec(0.0F);
      const Vec lower = odd && here ? load(from.first + (k + 1) * from.stride) : Vec(0.0F);
      sizes[v].see(bits_of(upper));
      sizes[v].see(bits_of(lower));
      TwoHalves parts[kCount];
      cut_pairs<S::kPrecision>(upper, lower, parts);
#pragma GCC unroll 3
      for (int p = 0; p < kCount; ++p) {
        __builtin_memcpy(to + p * kRightStep + 2 * v * kLanes, &parts[p], sizeof(parts[p]));
      }
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
