// Panels of weights in few bits, see PackedMatrix. A weight becomes the float that it stands for
// before it is multiplied, so a sum has the bits that it has over expanded weights: however many
// rows there are, and whether weights are expanded in registers or into memory.
#pragma once

#include "simd/kernels/tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// What a pointer to such weights points to.
template <Storage kStorage>
struct FewBits {
  std::uint8_t byte;
  static constexpr Storage kStored = kStorage;
};
using Q8 = FewBits<Storage::q8>;
using Q4 = FewBits<Storage::q4>;

template <class B>
inline constexpr bool kIsFewBits = false;
template <Storage kStorage>
inline constexpr bool kIsFewBits<FewBits<kStorage>> = true;

/// Where weight `index` of a packed matrix lies. @param index a multiple of `kGroup` for few bits
template <class B>
HEADROOM_INLINE const B* weight_at(const void* panels, std::int64_t index) {
  if constexpr (kIsFewBits<B>) {
    return static_cast<const B*>(panels) + storage_bytes(B::kStored, index);
  } else {
    return static_cast<const B*>(panels) + index;
  }
}

/// Rows of the depth whose four bits share a word of each column.
inline constexpr int kWordRows = 8;

/// Of a word's rows the values of row `i`, in two's complement.
HEADROOM_INLINE Vec nibbles_of(const Bits& words, int i) {
#if defined(HEADROOM_ISA_AVX512)
  // The instruction looks at the lowest four bits of each lane alone.
  const Vec values(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  const Bits lowest = words >> (4 * i);
  return Vec(_mm512_permutexvar_ps(__builtin_bit_cast(__m512i, lowest), values.data));
#else
  const Bits highest = words << (28 - 4 * i);
  return floats_of(__builtin_bit_cast(Ints, highest) >> 28);
#endif
}

/// A group is prefetched while an earlier one is multiplied, a quarter at a time.
inline constexpr int kQuarters = kGroup / kWordRows;

/// Of wide tiles, which are those of few rows: what a core prefetches by itself comes too late
/// while floats are made of bits.
/// @param group that is multiplied, of the first panel; @param panel_stride bytes
template <Storage kStored, int NV>
HEADROOM_INLINE void prefetch_quarter(const std::uint8_t* group, std::int64_t panel_stride,
                                      std::int64_t quarter) {
  if constexpr (NV > 2) {
    constexpr std::int64_t kBytes = storage_bytes(kStored, kGroup * kPanel);
    constexpr std::int64_t kAhead = 4;  // groups: 2 to 4 KiB of each panel
#pragma GCC unroll 16
    for (int p = 0; p < NV / 2; ++p) {
      const std::uint8_t* at =
          group + p * panel_stride + kAhead * kBytes + quarter * kBytes / kQuarters;
      // Each line: of some of them alone the core's own prefetching makes less than of none.
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kBytes / kQuarters; i += 64) __builtin_prefetch(at + i);
    }
  }
}

/// One group of the depth of NV vectors of columns, eight rows at a time.
template <class B, int NV>
struct GroupOfTile {
  static constexpr int kPer = kVectorsPerPanel<NV>;
  static constexpr std::int64_t kWidth = kPer * kLanes;
  static constexpr std::int64_t kScaleBytes = kWidth * 2;

  const std::uint8_t* first;  ///< of the first panel
  std::int64_t panel_stride;  ///< bytes
  Vec scale[NV];
  Bits words[NV];  ///< of four bits

  HEADROOM_INLINE GroupOfTile(const B* group, std::int64_t stride)
      : first(reinterpret_cast<const std::uint8_t*>(group)), panel_stride(stride) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      scale[v] = load_fp16(reinterpret_cast<const Half*>(first + (v / kPer) * panel_stride +
                                                         (v % kPer) * kLanes * 2));
    }
    first += kScaleBytes;
  }

  HEADROOM_INLINE void start(std::int64_t row) {
    if constexpr (std::is_same_v<B, Q4>) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        __builtin_memcpy(
            &words[v],
            first + (v / kPer) * panel_stride + row * kWidth / 2 + (v % kPer) * kLanes * 4,
            sizeof(Bits));
      }
    }
  }

  /// While the eight rows from `row` on are multiplied.
  HEADROOM_INLINE void prefetch(std::int64_t row) const {
    prefetch_quarter<B::kStored, NV>(first, panel_stride, row / (kGroup / kQuarters));
  }

  /// @param row where the eight start; @param i of them
  HEADROOM_INLINE Vec weights(int v, std::int64_t row, int i) const {
    if constexpr (std::is_same_v<B, Q4>) {
      return nibbles_of(words[v], i) * scale[v];
    } else {
      return load(reinterpret_cast<const std::int8_t*>(first + (v / kPer) * panel_stride +
                                                       (row + i) * kWidth + (v % kPer) * kLanes)) *
             scale[v];
    }
  }
};

/// As `accumulate` of floats. @param prefetches groups
template <int MR, int NV, Storage kStorage>
HEADROOM_INLINE void accumulate_few(Accumulators<MR, NV>& acc, const float* a,
                                    const FewBits<kStorage>* b, std::int64_t panel_stride,
                                    std::int64_t depth, bool prefetches) {
  using B = FewBits<kStorage>;
  using Group = GroupOfTile<B, NV>;
  const std::int64_t stride = weight_at<B>(b, panel_stride) - b;
  for (std::int64_t k = 0; k < depth; k += kGroup) {
    Group group(weight_at<B>(b, k * Group::kWidth), stride);
    for (std::int64_t row = 0; row < kGroup && k + row < depth; row += kWordRows) {
      group.start(row);
      if (prefetches) group.prefetch(row);
      const float* rows = a + (k + row) / kChunk * kChunk * MR + row % kChunk;
      const auto step = [&](int i) __attribute__((always_inline)) {
        Vec bv[NV];
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) bv[v] = group.weights(v, row, i);
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
          const Vec av(rows[r * kChunk + i]);
#pragma GCC unroll 16
          for (int v = 0; v < NV; ++v) acc.v[r][v] = multiply_add(av, bv[v], acc.v[r][v]);
        }
      };
      const std::int64_t left = depth - k - row;
      if (left >= kWordRows) [[likely]] {
#pragma GCC unroll 8
        for (int i = 0; i < kWordRows; ++i) step(i);
      } else {
        for (int i = 0; i < left; ++i) step(i);
      }
    }
  }
}

/// The floats of a panel of one or two vectors' columns, `depth` rows of it from a group on.
template <class B, int NV>
HEADROOM_INLINE void expand_panel(const B* b, std::int64_t depth, float* to) {
  using Group = GroupOfTile<B, NV>;
  for (std::int64_t k = 0; k < depth; k += kGroup) {
    Group group(weight_at<B>(b, k * Group::kWidth), 0);
    for (std::int64_t row = 0; row < kGroup && k + row < depth; row += kWordRows) {
      group.start(row);
#pragma GCC unroll 8
      for (int i = 0; i < kWordRows; ++i) {
        float* floats = to + (k + row + i) * Group::kWidth;
#pragma GCC unroll 2
        for (int v = 0; v < NV; ++v) store(floats + v * kLanes, group.weights(v, row, i));
      }
    }
  }
}

/// Rows of the depth of a panel. @pre `begin` begins a group
struct PanelRows {
  std::int64_t panel_depth;  ///< of the whole panel
  std::int64_t begin, depth;
};

/// Such rows of the panel that begins with a column of the matrix, as floats.
/// @return columns that it is wide: one vector or two
template <class B>
HEADROOM_INLINE std::int64_t expand_rows(const PanelRun& run, std::int64_t column,
                                         const PanelRows& rows, float* to) {
  const bool narrow = run.cols - column <= kLanes;
  const std::int64_t width = narrow ? kLanes : kPanel;
  const B* panel = weight_at<B>(run.panels, column * rows.panel_depth + rows.begin * width);
  if (narrow) {
    expand_panel<B, 1>(panel, rows.depth, to);
  } else {
    expand_panel<B, 2>(panel, rows.depth, to);
  }
  return width;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
