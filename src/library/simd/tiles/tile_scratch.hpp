// Memory that tasks of tiles need. Shared by the allocating code and the kernels, hence constexpr
// and always inlined, see cmake/HeadroomIsa.cmake.
#pragma once

#include <cstdint>

#include "simd/scratch.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::simd {

/// How many parts a precision cuts a number into.
[[gnu::always_inline]] constexpr std::int64_t part_count(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 1;
    case Precision::bf16x3:
    case Precision::fp16x3:
      return 2;
    default:
      return 3;
  }
}

/// What attention multiplies by for a precision of products. Two fp16 parts were 1.0 to 1.6 times
/// as slow there as three of bf16 (Granite Rapids), which are as exact: no row may be scaled by
/// keys that it does not see, so each key needed a power of two, counts and a check of its own.
[[gnu::always_inline]] constexpr Precision attend_precision(Precision precision) {
  return precision == Precision::fp16x3 ? Precision::bf16x6 : precision;
}

[[gnu::always_inline]] constexpr std::int64_t whole(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}

/// How many parts a right operand has that is stored so.
[[gnu::always_inline]] constexpr std::int64_t right_part_count(Precision precision, Dtype dtype) {
  return dtype == Dtype::bf16 ? 1 : part_count(precision);
}

/// The stages that a depth is summed in.
[[gnu::always_inline]] constexpr std::int64_t stage_count(std::int64_t depth,
                                                          std::int64_t stage_depth) {
  return (depth + stage_depth - 1) / stage_depth;
}

/// Halves of 32 columns of weights, cut: all parts of all steps of the depth.
[[gnu::always_inline]] constexpr std::int64_t cut_block_halves(std::int64_t parts,
                                                               std::int64_t depth) {
  return parts * whole(depth, kTileDepth) * kTileBlock;
}

/// Where the parts of a task's memory begin, in floats; the parts of the rows lie before them.
struct TileProjectScratch {
  std::int64_t sums = 0;             ///< of two by two tiles, and of the next ones
  std::int64_t partials = 0;         ///< between stages
  std::int64_t flags = 0;            ///< bytes: rows that f32 has to do
  std::int64_t ranges = 0;           ///< `Fp16Rows` of a stage, for each 32 rows
  std::int64_t right = 0;            ///< parts of a block of weights in few bits, one stage of them
  std::int64_t floats_of_right = 0;  ///< the same before they are cut, if parts are fp16
  std::int64_t f32 = 0;              ///< for the f32 kernels
  std::int64_t floats = 0;           ///< in all
};

/// A task of products by tiles, as far as its memory goes.
struct TileProjectSizes {
  Precision precision = Precision::bf16;
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t stage_depth = 0;
  std::int64_t blocks = 0;  ///< of 32 columns, of all runs together
  bool few_bits = false;    ///< weights, which are cut as they are used
};

[[gnu::always_inline]] constexpr TileProjectScratch tile_project_scratch(
    const TileProjectSizes& sizes, std::int64_t tile_rows, std::int64_t lanes) {
  const std::int64_t padded = whole(sizes.rows, kTileBlock);
  const bool staged = sizes.stage_depth < sizes.depth;
  const bool fp16 = sizes.precision == Precision::fp16x3;
  const std::int64_t right = sizes.few_bits ? sizes.stage_depth * kTileBlock : 0;
  TileProjectScratch at;
  at.sums = part_count(sizes.precision) * padded * sizes.stage_depth / 2;
  at.partials = at.sums + (padded / kTileBlock + 1) * kTileBlock * kTileBlock;
  at.flags = at.partials + (staged ? padded * sizes.blocks * kTileBlock : 0);
  at.ranges = at.flags + whole(padded, 64) / 4;
  constexpr std::int64_t kRangeFloats = sizeof(Fp16Rows) / sizeof(float);
  static_assert(sizeof(Fp16Rows) % 64 == 0, "what follows begins on a cache line");
  at.right = at.ranges + (fp16 ? padded / kTileBlock * kRangeFloats : 0);
  at.floats_of_right = at.right + part_count(sizes.precision) * right / 2;
  at.f32 = at.floats_of_right + (fp16 ? right : 0);
  at.floats = at.f32 + project_scratch_floats(tile_rows, 2 * lanes, whole(sizes.depth, kChunk), 1,
                                              kTileBlock / (2 * lanes));
  return at;
}

/// Rows of one attention tile: two tiles of sums, one below the other.
struct TileAttendScratch {
  std::int64_t query_floats = 0;  ///< of one tile, all parts
  std::int64_t state_floats = 0;  ///< of one tile's state
  std::int64_t tile_floats = 0;   ///< queries, flags, state of a segment, state of all before it
  std::int64_t keys = 0;          ///< parts of a block of keys; the tiles lie before them
  std::int64_t values = 0;
  std::int64_t weights = 0;  ///< parts of the attention weights of two tiles
  std::int64_t scores = 0;   ///< of two tiles
  std::int64_t sums = 0;
  std::int64_t factors = 0;
  std::int64_t skip = 0;  ///< bytes: keys whose numbers parts cannot carry
  std::int64_t f32 = 0;
  std::int64_t floats = 0;
};

/// @param precision see attend_precision
[[gnu::always_inline]] constexpr TileAttendScratch tile_attend_scratch(
    Precision precision, Dtype dtype, std::int64_t tile_rows, std::int64_t lanes,
    std::int64_t head_dim, std::int64_t value_dim, std::int64_t tiles) {
  const std::int64_t parts = part_count(precision);
  const std::int64_t right_parts = right_part_count(precision, dtype);
  const std::int64_t depth = whole(head_dim, kTileDepth);
  TileAttendScratch at;
  at.query_floats = parts * kTileBlock * depth / 2;
  at.state_floats = attend_state_floats(kTileBlock, lanes, value_dim);
  at.tile_floats = at.query_floats + kTileBlock / 2 + 2 * at.state_floats;
  at.keys = tiles * at.tile_floats;
  at.values = at.keys + right_parts * kKeyBlock * depth / 2;
  at.weights = at.values + right_parts * kKeyBlock * whole(value_dim, kTileBlock) / 2;
  at.scores = at.weights + parts * kTileBlock * kKeyBlock;
  at.sums = at.scores + 2 * kTileBlock * kKeyBlock;
  at.factors = at.sums + kTileBlock * kTileBlock;
  at.skip = at.factors + kKeyBlock;
  at.f32 = at.skip + kKeyBlock / 4;
  at.floats = at.f32 + attend_scratch_floats(tile_rows, lanes, head_dim, value_dim, 1);
  return at;
}

}  // namespace headroom::simd
