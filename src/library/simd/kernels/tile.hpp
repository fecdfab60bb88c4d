// The register tile that both operations are made of: MR rows of packed A times NV vectors of B.
//
// AVX-512 does two multiply-adds per cycle with a latency of 4, so at least 8 accumulators must be
// in flight; 14 x 2 vectors keep 28. A depth step costs 14 broadcasts and 2 loads for 28
// multiply-adds, 16 loads in 14 cycles with two load ports; using memory operands instead would
// cost 28 loads.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

template <int MR, int NV>
struct Accumulators {
  Vec v[MR][NV];
};

/// Panels that a tile of NV vectors spans, and the vectors of each. One vector is the narrow last
/// panel of a matrix; more than two are neighbouring full panels, for tiles of few rows.
template <int NV>
inline constexpr int kVectorsPerPanel = NV == 1 ? 1 : 2;

/// Width in vectors of the widest tile for few rows: no more accumulators than a full tile has, but
/// enough independent chains to hide the latency of a multiply-add.
template <int MR>
inline constexpr int kWideVectors = MR * 8 <= 2 * kTileRows   ? 2 * kMostTilePanels
                                    : MR * 4 <= 2 * kTileRows ? 4
                                                              : 2;

/// Asks for what is ahead of the present row of b. 64 steps are 8 KiB of a full AVX-512 panel.
template <int NV, Prefetch kPrefetch, class B>
HEADROOM_INLINE void prefetch_ahead(const B* b, std::int64_t panel_stride) {
  constexpr int kPer = kVectorsPerPanel<NV>;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    const B* here = b + (v / kPer) * panel_stride + (v % kPer) * kLanes;
    if constexpr (kPrefetch == Prefetch::far) {
      __builtin_prefetch(here + 64 * kPer * kLanes, 0, 2);
    } else if constexpr (kPrefetch == Prefetch::near) {
      __builtin_prefetch(here + 16 * kPer * kLanes, 0, 3);
    }
  }
}

template <int MR, int NV, Prefetch kPrefetch, class B>
HEADROOM_INLINE void depth_step(Accumulators<MR, NV>& acc, const float* a, const B* b,
                                std::int64_t panel_stride) {
  constexpr int kPer = kVectorsPerPanel<NV>;
  Vec bv[NV];
  prefetch_ahead<NV, kPrefetch>(b, panel_stride);
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) bv[v] = load(b + (v / kPer) * panel_stride + (v % kPer) * kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
    const Vec av(a[r * kChunk]);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc.v[r][v] = multiply_add(av, bv[v], acc.v[r][v]);
  }
}

/// What a tile does beside its multiply-adds: nothing. Other prefetches are compiled apart from it,
/// as even one that is never run cost a product 2 to 5 %.
struct NoPrefetcher {
  HEADROOM_INLINE void operator()(std::int64_t) const {}
  HEADROOM_INLINE void step() const {}
};

/// acc += A B over `depth` steps in order, so every element is one chain of multiply-adds. Its bits
/// depend neither on its tile nor on where the depth is cut into stages.
/// @param a chunks of `MR x kChunk`
/// @param b rows of one panel; further panels at `panel_stride`
/// @param row from one row of b to the next, in floats
/// @param prefetcher called before each chunk of the depth, with what is left of it, and its `step`
///        before each step of a chunk
/// @tparam AR rows of a chunk, of which these are MR neighbours
/// @tparam B what b is stored as: float or Half
template <int MR, int NV, Prefetch kPrefetch, int AR = MR, class B, class Prefetcher = NoPrefetcher>
HEADROOM_INLINE void accumulate(Accumulators<MR, NV>& acc, const float* a, const B* b,
                                std::int64_t panel_stride, std::int64_t depth,
                                std::int64_t row = kVectorsPerPanel<NV> * kLanes,
                                Prefetcher prefetcher = {}) {
  for (; depth >= kChunk; depth -= kChunk) {
    prefetcher(depth);
#pragma GCC unroll 4
    for (int k = 0; k < kChunk; ++k) {
      prefetcher.step();
      depth_step<MR, NV, kPrefetch>(acc, a + k, b + k * row, panel_stride);
    }
    a += AR * kChunk;
    b += kChunk * row;
  }
  for (std::int64_t k = 0; k < depth; ++k)
    depth_step<MR, NV, kPrefetch>(acc, a + k, b + k * row, panel_stride);
}

/// Prefetch distance of packing, in values of a row.
template <class A>
inline constexpr std::int64_t kPackAhead = 512 / static_cast<std::int64_t>(sizeof(A));

/// Copies `rows` rows, of any type, of `depth` values into chunks of `rows x kChunk`; the last
/// chunk's unused tail stays unwritten and unread.
template <class A>
HEADROOM_INLINE void pack_rows(const A* x, std::int64_t stride, std::int64_t rows,
                               std::int64_t depth, float* out) {
  for (std::int64_t k = 0; k < depth; k += kChunk) {
    const std::int64_t width = depth - k < kChunk ? depth - k : kChunk;
    for (std::int64_t r = 0; r < rows; ++r) {
      const A* from = x + r * stride + k;
      float* to = out + r * kChunk;
      // The rows are too many streams for the hardware prefetcher; past the end it is harmless.
      __builtin_prefetch(from + kPackAhead<A>);
      if (width == kChunk) {
        for (int i = 0; i < kChunk; i += kLanes) store(to + i, load(from + i));
      } else {
        for (std::int64_t i = 0; i < width; ++i) to[i] = load_one(from + i);
      }
    }
    out += rows * kChunk;
  }
}

/// Calls `f.template operator()<MR>()` for the run-time number of rows.
template <int MR = kTileRows, class F>
HEADROOM_INLINE void with_rows(std::int64_t rows, F&& f) {
  if constexpr (MR > 0) {
    if (rows == MR) {
      f.template operator()<MR>();
    } else {
      with_rows<MR - 1>(rows, static_cast<F&&>(f));
    }
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
