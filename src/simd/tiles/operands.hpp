// What a unit multiplies: two by two tiles of sums over some steps of the depth.
#pragma once

#include "simd/tiles/parts.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

inline constexpr int kMostParts = 3;
inline constexpr std::int64_t kLeftTile = kTileSide * kTileDepth;
inline constexpr std::int64_t kRightRow = 2 * kTileBlock;  ///< of pairs, in values
inline constexpr std::int64_t kRightStep = kTileDepth / 2 * kRightRow;
inline constexpr std::int64_t kSums = kTileSide * kTileSide;

struct Operands {
  const std::uint16_t* a[kMostParts];  ///< of each part, see cut_rows: the upper left tile
  std::int64_t a_lower = 0;            ///< from it to the tile of the next 16 rows
  std::int64_t a_step = kLeftTile;     ///< from it to the tile of the next step
  const std::uint16_t* b[kMostParts];  ///< of each part, see cut_columns
  std::int64_t steps = 0;
  std::int64_t rows =
      kTileBlock;     ///< that anybody reads: of 16 or fewer the lower tiles are left out
  float* sums[2][2];  ///< tiles of 16 rows of 16, written
};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
