// A tile of rows of streaming attention: its state, what it sees, and how few rows are streamed.
#pragma once

#include "core/call/key_range.hpp"
#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr float kMinusInfinity = -__builtin_inff();

/// What a tile of rows carries from one block of keys to the next, over one segment or over all.
struct TileState {
  float* out = nullptr;  ///< `rows x cols`, unnormalised
  float* sum = nullptr;  ///< `rows x lanes`: partial sums of the weights
  float* max = nullptr;  ///< `rows`: running maxima of the unscaled scores
};

/// What is subtracted from a row's scores. Rows that have seen only -inf keep a shift of 0, so that
/// exp2(-inf) is 0 and not NaN.
HEADROOM_INLINE float shift_of(float max) { return max == kMinusInfinity ? 0.0F : max; }

/// Whether a shift cannot be part of the exponents' multiply-add: the maximum is subtracted from
/// the scores themselves then, whose differences are exact where they matter. A NaN is not.
HEADROOM_INLINE bool is_far(float shift) { return __builtin_fabsf(shift) > kMostShift; }

/// A tile of rows, and its state over the present segment.
struct Tile {
  std::int64_t row = 0;  ///< first row
  std::int64_t rows = 0;
  float* queries = nullptr;  ///< packed, `rows x head_dim`
  TileState state;
  /// If not null: the first row's score for the first key of the present block; those of the other
  /// rows lie beside it, those of the next key `found_stride` further.
  const float* found = nullptr;
  std::int64_t found_stride = 0;
};

/// Rows that a tile prefetches while it is multiplied, one per chunk of the depth, so that nobody
/// waits for them later: all at once would take every place for misses that the core has.
struct PrefetchRows {
  const float* next = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  bool to_write = false;
};

/// The prefetcher of one panel of keys; the next panel goes on with the rows that are left.
class RowPrefetcher {
 public:
  HEADROOM_INLINE explicit RowPrefetcher(PrefetchRows& prefetch) : rows_(&prefetch) {}

  HEADROOM_INLINE void step() const {}

  HEADROOM_INLINE void operator()(std::int64_t) const {
    if (rows_->rows <= 0) return;
    for (std::int64_t c = 0; c < rows_->width; c += kChunk) {
      if (rows_->to_write) {
        __builtin_prefetch(rows_->next + c, 1, 3);
      } else {
        __builtin_prefetch(rows_->next + c, 0, 2);
      }
    }
    rows_->next += rows_->stride;
    --rows_->rows;
  }

 private:
  PrefetchRows* rows_;
};

/// Whose row it is: rows are the query heads of a group, token by token.
struct RowPlace {
  std::int64_t token, head;
};

HEADROOM_INLINE RowPlace place_of(const AttendTask& task, std::int64_t row) {
  // A division would cost as much as a step of the tile.
  if (task.group == 1) return {row, 0};
  return {row / task.group, row % task.group};
}

HEADROOM_INLINE KeyRange seen_keys(const AttendTask& task, std::int64_t row) {
  return visible_keys(task.rule, task.position + place_of(task, row).token, task.key_count);
}

/// A block of keys as a tile sees it; all but `begin` count from `begin`.
struct KeyBlock {
  std::int64_t begin = 0;
  std::int64_t place = 0;             ///< of its first key among those that are packed
  std::int64_t first = 0, count = 0;  ///< some row sees keys from `first` to below `count`
  std::int64_t common_begin = 0, common_end = 0;  ///< of these all rows see these
};

HEADROOM_INLINE std::int64_t clamp(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value < low ? low : value > high ? high : value;
}

HEADROOM_INLINE KeyBlock see_block(const AttendTask& task, const Tile& tile, std::int64_t begin) {
  const KeyRange of_first = seen_keys(task, tile.row);
  const KeyRange of_last = seen_keys(task, tile.row + tile.rows - 1);
  KeyBlock block;
  block.begin = begin;
  block.place = task.new_keys.data == nullptr ? begin : 0;
  block.first = clamp(of_first.begin - begin, 0, kKeyBlock);
  block.count = clamp(of_last.end - begin, 0, kKeyBlock);
  block.common_begin = clamp(of_last.begin - begin, block.first, block.count);
  block.common_end = clamp(of_first.end - begin, block.common_begin, block.count);
  return block;
}

/// Whether all rows see NV vectors of keys from `k` on.
template <int NV>
HEADROOM_INLINE bool all_seen(const KeyBlock& block, std::int64_t k) {
  return k >= block.common_begin && k + NV * kLanes <= block.common_end;
}

/// Where the score of key `k` (within the block) and row `r` of a tile of so many rows is kept.
/// What runs seldom, or walks rows one after the other, is compiled once for all numbers of rows:
/// beside a vector of scores the multiplication is nothing.
HEADROOM_INLINE std::int64_t score_at(std::int64_t rows, std::int64_t k, std::int64_t r) {
  return (k / kChunk) * rows * kChunk + r * kChunk + k % kChunk;
}
template <int MR>
HEADROOM_INLINE std::int64_t score_at(std::int64_t k, std::int64_t r) {
  return score_at(MR, k, r);
}

/// The lanes whose index is below a number.
HEADROOM_INLINE auto lanes_below(std::int64_t end) {
  alignas(64) static constexpr float kIndices[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
  return load(kIndices) < Vec(static_cast<float>(end));
}
/// The lanes below `end`, or from `begin` on; -inf in the others.
HEADROOM_INLINE Vec only_below(const Vec& v, std::int64_t end) {
  return xsimd::select(lanes_below(end), v, Vec(kMinusInfinity));
}
HEADROOM_INLINE Vec only_from(const Vec& v, std::int64_t begin) {
  return xsimd::select(lanes_below(begin), Vec(kMinusInfinity), v);
}
/// The lanes from `begin` to below `end`; -inf in the others.
HEADROOM_INLINE Vec only_between(const Vec& v, std::int64_t begin, std::int64_t end) {
  return only_below(only_from(v, begin), end);
}

HEADROOM_INLINE std::int64_t padded_cols(const AttendTask& task) {
  return (task.value_dim + kLanes - 1) / kLanes * kLanes;
}

/// A tile of few rows has no others beside it that read its keys from a cache: it streams them from
/// memory, in pieces that stay in the L1 for some rows after the others.
template <int MR>
inline constexpr bool kStreams = MR <= 8 && MR <= kTileRows - 2;
/// With AVX2 one stream of keys at a time is slow, as its misses wait for each other, so several
/// panels are read at once (measured on Zen 3). With AVX-512 one panel after the other, for all
/// rows together, is 1.2 to 1.4 times as fast as four at once (measured on Zen 4).
inline constexpr bool kStreamsPanels = kLanes < 16;
inline constexpr int kStreamVectors = 2 * kMostTilePanels;
inline constexpr std::int64_t kStreamDepth = 2 * kChunk;

/// What a pointer to keys and values points to that are multiplied as bytes, see
/// `CacheOrder::words`.
struct CacheByte {
  std::uint8_t byte;
};
template <class B>
inline constexpr bool kMultipliesBytes = false;
template <>
inline constexpr bool kMultipliesBytes<CacheByte> = true;

/// Elements of a key.
template <class B>
HEADROOM_INLINE std::int64_t key_width(const AttendTask& task) {
  return kMultipliesBytes<B> ? whole_groups(task.head_dim) : task.head_dim;
}

/// Rows that are streamed together for NV vectors: as many as a full tile has accumulators for. The
/// first group waits for memory, so it takes the most rows (4 rows as 3 and 1 are 5 % faster than
/// as 2 and 2).
template <int NV>
inline constexpr int kStreamRows = 2 * kTileRows >= NV ? 2 * kTileRows / NV : 1;

inline constexpr int kLineBytes = 64;

/// Prefetches a line for a stream. The hint must be a constant; the branch is foreseen.
HEADROOM_INLINE void prefetch_ahead(const char* line, bool into_l1) {
  if (into_l1) {
    __builtin_prefetch(line, 0, 3);
  } else {
    __builtin_prefetch(line, 0, 2);
  }
}

/// Prefetches a piece while another of the same size is read, a step's lines with each step: many
/// at once would take every place for misses that the core has, and nothing else could be on its
/// way.
/// @tparam BYTES that a step reads
template <int BYTES>
struct PiecePrefetcher {
  const char* next;
  bool into_l1;

  HEADROOM_INLINE void operator()(std::int64_t) const {}

  HEADROOM_INLINE void step() {
#pragma GCC unroll 16
    for (int at = 0; at < BYTES; at += kLineBytes) prefetch_ahead(next + at, into_l1);
    next += BYTES;
  }
};

/// A stream reads the keys of a block in pieces and then its values in as many; in memory both
/// follow each other from block to block. On a core with two multiply-adds a cycle its
/// multiply-adds and its misses did not overlap, unless each piece prefetches the one that is read
/// some pieces later, be it of the keys or of the values.
/// @return where that one begins; null if there is none
template <class B>
HEADROOM_INLINE const char* piece_ahead(const AttendTask& task, const KeyBlock& block, bool values,
                                        std::int64_t piece) {
  constexpr std::int64_t kPieces = kKeyBlock / kStreamDepth;
  if (task.new_keys.data != nullptr) return nullptr;
  if (task.as_rows) {  // scores prefetch the block's values, and values the next block's keys
    const std::int64_t key = block.begin + kKeyBlock + piece * kStreamDepth;
    if (!values || task.key_stride != task.head_dim || key + kStreamDepth > task.key_count) {
      return nullptr;
    }
    return reinterpret_cast<const char*>(static_cast<const B*>(task.keys) + key * task.head_dim);
  }
  if (task.value_stride != padded_cols(task)) return nullptr;
  const std::int64_t later = piece + task.ahead.pieces;
  const bool same = later < kPieces;
  const std::int64_t key = block.begin + (same || !values ? 0 : kKeyBlock) +
                           (same ? later : later - kPieces) * kStreamDepth;
  if (key >= task.key_count) return nullptr;
  const B* from = values == same ? static_cast<const B*>(task.values) + key * task.value_stride
                                 : static_cast<const B*>(task.keys) + key * key_width<B>(task);
  return reinterpret_cast<const char*>(from);
}

/// Whether the streams of a task prefetch their pieces; a panel of keys must be one.
HEADROOM_INLINE bool prefetches_pieces(const AttendTask& task) {
  return kPanel == kStreamDepth && task.prefetches;
}

/// Prefetches rows that are packed for the next block into the L2, some lines with each chunk of
/// the depth, whatever is multiplied: while rows are packed nothing is computed.
struct NextRowsPrefetcher {
  NextRows* rows;

  HEADROOM_INLINE void step() const {}

  HEADROOM_INLINE void operator()(std::int64_t) const {
    constexpr int kBytes = 8 * kLineBytes;
    if (rows->begin >= rows->end) return;
#pragma GCC unroll 8
    for (int at = 0; at < kBytes; at += kLineBytes) __builtin_prefetch(rows->begin + at, 0, 2);
    rows->begin += kBytes;
  }
};

/// Calls `f.template operator()<ROWS, FIRST>()` for groups of rows that are streamed together.
template <int MR, int NV, int FIRST = 0, class F>
HEADROOM_INLINE void for_stream_rows(F&& f) {
  if constexpr (FIRST < MR) {
    constexpr int kRows = MR - FIRST < kStreamRows<NV> ? MR - FIRST : kStreamRows<NV>;
    f.template operator()<kRows, FIRST>();
    for_stream_rows<MR, NV, FIRST + kRows>(static_cast<F&&>(f));
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
