// Cutting float32 operands into bfloat16 parts, in the order in which tiles are read.
#pragma once

#include "simd/tiles/parts.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr int kBlockVectors = static_cast<int>(kTileBlock) / kLanes;

/// One row becomes row `r` of the left tiles of `steps` tile products, one after the other, each 16
/// rows of 32 values. What is missing is zero.
/// @param x null: zeros
/// @param out one for each part
/// @return what magnitudes were seen
template <Precision P>
HEADROOM_INLINE Sizes cut_row(const float* x, std::int64_t depth, std::int64_t steps,
                              std::int64_t r, std::uint16_t* const* out) {
  constexpr int kCount = Parts<P>::kCount;
  Sizes sizes;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += kLanes) {
    Vec v(0.0F);
    if (x != nullptr && k + kLanes <= depth) {
      v = load(x + k);
    } else if (x != nullptr && k < depth) {
      alignas(64) float rest[kLanes] = {};
      for (std::int64_t i = 0; i < depth - k; ++i) rest[i] = x[k + i];
      v = load(rest);
    }
    sizes.see(bits_of(v));
    Bits parts[kCount];
    cut_vector<P>(v, parts);
    const std::int64_t at =
        k / kTileDepth * kTileSide * kTileDepth + r * kTileDepth + k % kTileDepth;
#pragma GCC unroll 3
    for (int p = 0; p < kCount; ++p) {
      store_upper(out[p] + at, parts[p]);
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
template <Precision P, class B>
HEADROOM_INLINE void cut_columns(const Columns<B> (&columns)[kBlockVectors], std::int64_t depth,
                                 std::int64_t steps, const unsigned char* skip,
                                 std::uint16_t* const* out, Sizes (&sizes)[kBlockVectors]) {
  constexpr int kCount = Parts<P>::kCount;
  for (std::int64_t k = 0; k < steps * kTileDepth; k += 2) {
    const bool even = k < depth && (skip == nullptr || skip[k] == 0);
    const bool odd = k + 1 < depth && (skip == nullptr || skip[k + 1] == 0);
#pragma GCC unroll 8
    for (int v = 0; v < kBlockVectors; ++v) {
      const Columns<B>& from = columns[v];
      const bool here = from.first != nullptr;
      const Vec upper = even && here ? load(from.first + k * from.stride) : Vec(0.0F);
      const Vec lower = odd && here ? load(from.first + (k + 1) * from.stride) : Vec(0.0F);
      sizes[v].see(bits_of(upper));
      sizes[v].see(bits_of(lower));
      Bits first[kCount];
      Bits second[kCount];
      cut_vector<P>(upper, first);
      cut_vector<P>(lower, second);
#pragma GCC unroll 3
      for (int p = 0; p < kCount; ++p) {
        const Bits pairs = (first[p] >> 16) | second[p];
        __builtin_memcpy(out[p] + k * kTileBlock + 2 * v * kLanes, &pairs, sizeof(pairs));
      }
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
