// Sizes of the scratch memory that a kernel's task needs. Shared by the allocating code and the
// kernels, which are compiled once per level (hence constexpr and always inlined, see
// cmake/HeadroomIsa.cmake).
#pragma once

#include <cstdint>

#include "simd/kernel_table.hpp"

namespace headroom::simd {

/// Floats of scratch for a projection task with these tiles and panels: packed rows of one stage
/// of the depth, and partial sums between stages.
[[gnu::always_inline]] constexpr std::int64_t project_scratch_floats(std::int64_t tile_rows,
                                                                     std::int64_t panel_cols,
                                                                     std::int64_t stage_depth,
                                                                     std::int64_t tiles,
                                                                     std::int64_t panels) {
  return tiles * tile_rows * (stage_depth + panels * panel_cols);
}

/// Floats of scratch for an attention task with this many tiles: a tile's queries, its scores
/// against a block of keys, the accumulated output of every tile, and its running maxima and sums.
[[gnu::always_inline]] constexpr std::int64_t attend_scratch_floats(std::int64_t tile_rows,
                                                                    std::int64_t lanes,
                                                                    std::int64_t head_dim,
                                                                    std::int64_t tiles) {
  const std::int64_t depth = (head_dim + kChunk - 1) / kChunk * kChunk;
  const std::int64_t cols = (head_dim + lanes - 1) / lanes * lanes;
  return tiles * tile_rows * (depth + cols + lanes + 1) + tile_rows * kKeyBlock +
         kKeyBlock;  // one row of dropout factors
}

}  // namespace headroom::simd
