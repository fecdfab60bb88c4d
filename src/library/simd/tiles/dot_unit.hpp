// AVX512_BF16: the same operands by vectors of pairs. Only for one part of each: with more it would
// be slower than f32.
//
// The processor multiplies and does other work at once, but weights that nobody has asked for come
// late: what stands beside products of them runs within, and other work, which wants the registers,
// between two groups of rows (measured on Zen 5).
#pragma once

#include <immintrin.h>

#include "simd/tiles/operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

struct DotUnit {
  static constexpr const char* kName = "avx512_bf16";
  /// As of other units. Pieces of 8 steps cost 0 to 3 % on Zen 4.
  template <class S>
  static constexpr std::int64_t held_steps() {
    return 0;
  }
  /// Layers of 4 rows take as long by pairs as in f32, of 6 0.69 of the time, of 8 to 48 0.5 to
  /// 0.55.
  template <Precision P>
  static constexpr RowBorder border() {
    return {4, "Zen 4"};
  }
  /// Layers of 4 rows take 0.78 to 0.96 of their time by pairs, those of 16 and 32 rows 0.54; up to
  /// 3 rows they are up to half as slow again where weights are stored as bf16.
  template <Precision P>
  static constexpr RowBorder border_of_two() {
    return {3, "Zen 5"};
  }
  /// To cut the weights takes as long as f32 takes for some 8 rows: layers of 12 rows take 0.88 of
  /// the time of f32, of 16 0.67, of 64 0.56.
  template <Precision P>
  static constexpr RowBorder border_of_groups() {
    return {10, "Zen 4"};
  }
  /// Sums do not wait between pieces here, so each stage costs a pass over them: 1,024 are 2 to 5 %
  /// slower (Zen 4).
  template <Precision P>
  static constexpr std::int64_t longest_stage() {
    return 2048;
  }
  // Of 2 vectors: 16 sums in registers, enough to hide the latency.
  static constexpr int kRows = 8;
  /// 8 KiB. Of 2 to 16 the fastest where weights come from memory; 1 % slower where they lie in the
  /// L3 (Zen 5).
  static constexpr std::int64_t kStepsAhead = 4;
  struct Session {};

  /// Whose turn it is, of those that come one after the other.
  struct Turn {
    int wait;
    int of;

    HEADROOM_INLINE bool comes() {
      if (wait-- > 0) return false;
      wait += of;
      return true;
    }
  };

  /// @tparam kSteps whose weights are asked for, so many steps ahead; 0: nobody's
  /// @param turn of how many groups of rows this one is, which call `beside.next` in turn
  template <std::int64_t kSteps, class Beside>
  HEADROOM_INLINE static void multiply_rows(const Operands& of, int i, int first, Beside& beside,
                                            Turn turn) {
    const std::uint16_t* a = of.a + i * kLeftTile + first * kTileDepth;
    const std::uint16_t* b = of.b;
    __m512 sums[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < 2; ++j) {
        sums[r][j] =
            of.add ? _mm512_loadu_ps(of.sums[i][j] + (first + r) * kTileSide) : _mm512_setzero_ps();
      }
    }
    for (std::int64_t s = 0; s < of.steps; ++s) {
#pragma GCC unroll 4
      for (std::int64_t p = 0; p < kTileSide; ++p) {
        if constexpr (kSteps > 0) {
          const std::uint16_t* ahead = b + kSteps * kRightStep + p * kRightRow;
          __builtin_prefetch(ahead, 0, 3);
          __builtin_prefetch(ahead + kTileDepth, 0, 3);
        }
        const __m512bh left_columns = load_pairs(b + p * kRightRow);
        const __m512bh right_columns = load_pairs(b + p * kRightRow + kTileDepth);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          std::int32_t pair;
          __builtin_memcpy(&pair, a + r * kTileDepth + 2 * p, sizeof(pair));
          const auto row = __builtin_bit_cast(__m512bh, _mm512_set1_epi32(pair));
          sums[r][0] = _mm512_dpbf16_ps(sums[r][0], row, left_columns);
          sums[r][1] = _mm512_dpbf16_ps(sums[r][1], row, right_columns);
        }
      }
      a += kLeftStep;
      b += kRightStep;
      if (turn.comes()) beside.next();
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      _mm512_storeu_ps(of.sums[i][0] + (first + r) * kTileSide, sums[r][0]);
      _mm512_storeu_ps(of.sums[i][1] + (first + r) * kTileSide, sums[r][1]);
    }
  }

  HEADROOM_INLINE static __m512bh load_pairs(const std::uint16_t* from) {
    return __builtin_bit_cast(__m512bh, _mm512_loadu_si512(from));
  }

  template <class S, class Beside>
  static void multiply(const Operands& of, Beside& beside) {
    static_assert(S::kProducts == 1);
    Nothing nothing;
    const int groups = static_cast<int>((of.rows + kRows - 1) / kRows);
    // One group reads each weight once, and as fast as it comes: asked for a block ahead it would
    // come to the L2 alone.
    constexpr int kAhead = Beside::kAhead ? kStepsAhead : 0;
    if (groups == 1) return multiply_rows<kAhead>(of, 0, 0, nothing, {0, 1});
    std::int64_t called = 0;
    for (int group = 0; group < groups; ++group) {
      const int tile = group * kRows / static_cast<int>(kTileSide);
      const int first = group * kRows % static_cast<int>(kTileSide);
      if constexpr (Beside::kAhead) {
        multiply_rows<0>(of, tile, first, beside, {group, groups});
      } else {
        multiply_rows<0>(of, tile, first, nothing, {group, groups});
        for (; called < of.steps * (group + 1) / groups; ++called) beside.next();
      }
    }
  }
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
