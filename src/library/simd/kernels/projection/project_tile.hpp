// A register tile of the projection: where it starts, what it prefetches, and where it ends.
#pragma once

#include "simd/kernels/projection/weight_groups.hpp"
#include "simd/kernels/rows.hpp"
#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Memory that a tile prefetches while it is multiplied, a few lines per chunk of the depth, so
/// that nobody waits for it later. All at once it would take every place for misses that the core
/// has.
struct TilePrefetches {
  const char* x = nullptr;                ///< some of the next tile's rows, which are packed next
  std::int64_t x_stride = 0, x_step = 0;  ///< bytes to the next row, and to the next chunk
  std::int64_t x_rows = 0;
  const float* sums = nullptr;   ///< of the next tile, or null
  const char* panel = nullptr;   ///< a share of a panel of the next group
  std::int64_t panel_lines = 0;  ///< per chunk
  bool y = false;                ///< where the tile is stored
  bool groups = false;           ///< of weights in few bits
};

inline constexpr std::int64_t kLine = 64;  ///< bytes of a cache line

/// Where one tile starts, continues and ends.
template <class B>
struct TileCall {
  const float* a;
  const B* b;
  std::int64_t panel_stride;
  std::int64_t depth;
  const float* bias;    ///< of the tile's first column, or null
  float* partial;       ///< this tile's sums between stages
  bool first, last;     ///< stage of the depth
  std::int64_t row;     ///< first row in y
  std::int64_t column;  ///< first column in the whole matrix
  const TilePrefetches& prefetches;
};

/// Where the vectors of a tile go.
template <int NV>
struct Destination {
  float* y[NV];  ///< of the tile's first row
  /// They are of floats, and no vector crosses the end of a head. Each starts inside the matrix,
  /// which ends with a head, so that one which crosses the matrix's end crosses a head's.
  bool whole;
};

template <int NV, class B>
HEADROOM_INLINE Destination<NV> find_destination(const PanelRun& run, const TileCall<B>& call) {
  Destination<NV> to;
  to.whole = run.y_dtype == Dtype::f32;
  if (!to.whole) {
    for (int v = 0; v < NV; ++v) to.y[v] = nullptr;
    return to;
  }
  std::int64_t block = call.column / run.block_cols;  // one division per tile, because it is slow
  std::int64_t inside = call.column - block * run.block_cols;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    to.y[v] =
        static_cast<float*>(run.y) + call.row * run.y_stride + block * run.block_stride + inside;
    to.whole = to.whole && inside + kLanes <= run.block_cols;
    inside += kLanes;
    while (inside >= run.block_cols) {
      inside -= run.block_cols;
      ++block;
    }
  }
  return to;
}

/// Copies finished rows from the tile's partial sums, each in pieces that end where a head ends.
/// @tparam Y what y is of: float or Half
template <int NV, class Y, class B>
[[gnu::noinline]] void scatter_tile(const PanelRun& run, const TileCall<B>& call, int rows) {
  const std::int64_t end =
      call.column + NV * kLanes < run.cols ? call.column + NV * kLanes : run.cols;
  for (std::int64_t column = call.column; column < end;) {
    const std::int64_t block = column / run.block_cols;
    const std::int64_t block_end = (block + 1) * run.block_cols;
    const std::int64_t piece_end = block_end < end ? block_end : end;
    const float* from = call.partial + (column - call.column);
    Y* to = static_cast<Y*>(run.y) + call.row * run.y_stride + block * run.block_stride + column -
            block * run.block_cols;
    for (int r = 0; r < rows; ++r) {
      copy_values_of(from, piece_end - column, to);
      from += NV * kLanes;
      to += run.y_stride;
    }
    column = piece_end;
  }
}

// Every access to the accumulators has constant indices: a single loop that is not unrolled makes
// the compiler keep them in memory throughout.
template <int MR, int NV>
HEADROOM_INLINE void store_partial(const Accumulators<MR, NV>& acc, float* partial) {
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(partial + (r * NV + v) * kLanes, acc.v[r][v]);
  }
}

/// The prefetches of one tile, from chunk to chunk.
template <int MR, int NV>
class TilePrefetcher {
 public:
  HEADROOM_INLINE TilePrefetcher(const TilePrefetches& prefetches, const Destination<NV>& to,
                                 std::int64_t y_stride)
      : prefetches_(prefetches),
        sums_(prefetches.sums != nullptr ? MR * NV * kLanes : 0),
        y_(to.y[0]),
        y_stride_(y_stride),
        y_rows_(prefetches.y && to.whole ? MR : 0) {}

  HEADROOM_INLINE void operator()(std::int64_t left) {
    const char* x = prefetches_.x;
    for (std::int64_t r = 0; r < prefetches_.x_rows; ++r) {
      __builtin_prefetch(x, 0, 2);
      x += prefetches_.x_stride;
    }
    prefetches_.x += prefetches_.x_step;
    for (std::int64_t i = 0; i < prefetches_.panel_lines; ++i) {
      __builtin_prefetch(prefetches_.panel, 0, 2);
      prefetches_.panel += kLine;
    }
    if (sums_ > 0) {
      __builtin_prefetch(prefetches_.sums, 0, 2);
      prefetches_.sums += kChunk;
      sums_ -= kChunk;
    }
    // Last, as otherwise the operands that stream through the L1 would push them out again.
    if (y_rows_ > 0 && left <= (MR + kMargin) * kChunk) {
      __builtin_prefetch(y_, 1, 3);
      if constexpr (NV > 1) __builtin_prefetch(y_ + kLanes, 1, 3);
      y_ += y_stride_;
      --y_rows_;
    }
  }

  HEADROOM_INLINE void step() const {}

 private:
  static constexpr std::int64_t kMargin = 4;  ///< chunks, 900 cycles of a full AVX-512 tile
  TilePrefetches prefetches_;
  std::int64_t sums_;
  float* y_;
  std::int64_t y_stride_;
  std::int64_t y_rows_;
};

template <int MR, int NV, Prefetch kPrefetch, bool kWanted, class B>
HEADROOM_INLINE void run_tile(const PanelRun& run, const TileCall<B>& call) {
  Accumulators<MR, NV> acc;
#pragma GCC unroll 16
  for (int v = 0; v < NV; ++v) {
    if (call.first) {
      const Vec start = call.bias != nullptr ? load(call.bias + v * kLanes) : Vec(0.0F);
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) acc.v[r][v] = start;
    } else {
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) acc.v[r][v] = load(call.partial + (r * NV + v) * kLanes);
    }
  }
  constexpr std::int64_t kRow = kVectorsPerPanel<NV> * kLanes;
  constexpr bool kPrefetches = NV <= 2 && kWanted;
  Destination<NV> to;
  if constexpr (kIsFewBits<B>) {
    accumulate_few<MR, NV>(acc, call.a, call.b, call.panel_stride, call.depth,
                           call.prefetches.groups);
  } else if constexpr (kPrefetches) {
    to.whole = false;
    if (call.last) to = find_destination<NV>(run, call);
    accumulate<MR, NV, kPrefetch>(acc, call.a, call.b, call.panel_stride, call.depth, kRow,
                                  TilePrefetcher<MR, NV>(call.prefetches, to, run.y_stride));
  } else {
    // A wide tile has few multiply-adds per load, so prefetch instructions would slow it down.
    accumulate<MR, NV, NV <= 2 ? kPrefetch : Prefetch::none>(acc, call.a, call.b, call.panel_stride,
                                                             call.depth, kRow);
  }
  if (call.last) {
    if constexpr (!kPrefetches) to = find_destination<NV>(run, call);
    if (to.whole) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) store(to.y[v] + r * run.y_stride, acc.v[r][v]);
      }
      return;
    }
  }
  store_partial(acc, call.partial);
  if (!call.last) return;
  if (run.y_dtype == Dtype::f32) {
    scatter_tile<NV, float>(run, call, MR);
  } else {
    scatter_tile<NV, Half>(run, call, MR);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
