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

/// Numbers of 32 bits that a group of a row takes which is rounded to bytes, at most.
inline constexpr std::int64_t kByteGroupNumbers = 18;

/// Floats of scratch for a projection task of bytes: its rounded rows, and sums of one tile.
[[gnu::always_inline]] constexpr std::int64_t byte_scratch_floats(std::int64_t tile_rows,
                                                                  std::int64_t panel_cols,
                                                                  std::int64_t depth,
                                                                  std::int64_t tiles) {
  const std::int64_t groups = (depth + kGroup - 1) / kGroup;
  return tile_rows * (tiles * groups * kByteGroupNumbers + kMostTilePanels * panel_cols);
}

/// Floats of the panels that a task expands together, one stage of them.
[[gnu::always_inline]] constexpr std::int64_t panel_room_floats(std::int64_t panel_cols,
                                                                std::int64_t stage_depth) {
  return kMostTilePanels * panel_cols * stage_depth;
}

/// Floats of a tile's state over some keys: the accumulated output, its running maxima and sums.
[[gnu::always_inline]] constexpr std::int64_t attend_state_floats(std::int64_t tile_rows,
                                                                  std::int64_t lanes,
                                                                  std::int64_t value_dim) {
  const std::int64_t cols = (value_dim + lanes - 1) / lanes * lanes;
  return (tile_rows * (cols + lanes + 1) + kChunk - 1) / kChunk * kChunk;
}

/// Channels of a head, filled up to whole chunks: of packed queries, and of the scales of keys in
/// eight bits.
[[gnu::always_inline]] constexpr std::int64_t padded_channels(std::int64_t head_dim) {
  return (head_dim + kChunk - 1) / kChunk * kChunk;
}

/// Floats of scratch for an attention task with this many tiles: of each tile its queries and its
/// states over one segment and over all before; the scores of one against a block of keys.
[[gnu::always_inline]] constexpr std::int64_t attend_scratch_floats(std::int64_t tile_rows,
                                                                    std::int64_t lanes,
                                                                    std::int64_t head_dim,
                                                                    std::int64_t value_dim,
                                                                    std::int64_t tiles) {
  return tiles * (tile_rows * padded_channels(head_dim) +
                  2 * attend_state_floats(tile_rows, lanes, value_dim)) +
         tile_rows * kKeyBlock + kKeyBlock;  // one row of dropout factors
}

/// Floats of `AttendTask::room`: a block of keys, and of values.
[[gnu::always_inline]] constexpr std::int64_t attend_room_floats(std::int64_t lanes,
                                                                 std::int64_t head_dim,
                                                                 std::int64_t value_dim) {
  const std::int64_t cols = (value_dim + lanes - 1) / lanes * lanes;
  return kKeyBlock * (head_dim + cols);
}

/// Floats of `AttendTask::room` for keys in eight bits: a tile's queries times the scales of a
/// block, and its scores against that.
[[gnu::always_inline]] constexpr std::int64_t rounded_room_floats(std::int64_t tile_rows,
                                                                  std::int64_t head_dim) {
  return tile_rows * (padded_channels(head_dim) + kCacheBlock);
}

/// Floats of groups that are rounded to bytes, at most: their words, scales and what sums begin
/// with.
[[gnu::always_inline]] constexpr std::int64_t byte_group_floats(std::int64_t groups) {
  constexpr std::int64_t kWords = kGroup / 2;
  return groups * kWords + 2 * ((groups + kChunk - 1) / kChunk * kChunk);
}

/// What is needed behind these for products of bytes: a tile's queries or, later, its weights of a
/// block of keys.
[[gnu::always_inline]] constexpr std::int64_t byte_room_floats(std::int64_t tile_rows,
                                                               std::int64_t head_dim) {
  const std::int64_t channels = whole_groups(head_dim);
  return byte_group_floats(tile_rows * (channels > kKeyBlock ? channels : kKeyBlock) / kGroup);
}

}  // namespace headroom::simd
