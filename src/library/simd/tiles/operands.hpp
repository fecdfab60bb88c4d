// What a unit multiplies: two by two tiles of sums over some steps of the depth.
#pragma once

#include "simd/tiles/parts.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr std::int64_t kLeftTile = kTileSide * kTileDepth;
/// Of one part: two left tiles, the upper one first.
inline constexpr std::int64_t kLeftStep = 2 * kLeftTile;
inline constexpr std::int64_t kRightRow = 2 * kTileBlock;  ///< of pairs, in values
/// Of one part: two right tiles, side by side.
inline constexpr std::int64_t kRightStep = kTileDepth / 2 * kRightRow;
inline constexpr std::int64_t kSums = kTileSide * kTileSide;

/// Steps follow each other, and in each step the parts: one stream for a, one for b.
struct Operands {
  const std::uint16_t* a = nullptr;       ///< see cut_row
  const std::uint16_t* b = nullptr;       ///< see cut_columns
  const std::uint16_t* next_a = nullptr;  ///< what is multiplied after it, to be prefetched
  const std::uint16_t* next_b = nullptr;
  std::int64_t steps = 0;
  /// That anybody reads: of 16 or fewer the lower tiles are left out.
  std::int64_t rows = kTileBlock;
  float* sums[2][2];  ///< tiles of 16 rows of 16
  bool add = false;   ///< to what the sums are; otherwise to zeros
};

/// Work of vectors that a unit may do between its products; here none. What is left is done after.
struct Nothing {
  static constexpr bool kAhead = false;  ///< whether operands come from beyond the L1
  HEADROOM_INLINE void next() const {}
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
