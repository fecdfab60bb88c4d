// Streaming attention of one tile of rows over one block of keys.
//
// Queries are not scaled: the scale is part of the subtraction of the maximum,
// exp2(s * scale - max * scale), one multiply-add for both.
#pragma once

#include "simd/kernels/attend_dots.hpp"
#include "simd/kernels/attend_mask.hpp"
#include "simd/kernels/attend_rounded.hpp"
#include "simd/kernels/attend_scores.hpp"
#include "simd/kernels/attend_turned.hpp"
#include "simd/kernels/attend_values.hpp"
#include "simd/kernels/bytes/byte_values.hpp"
#include "simd/kernels/exp2.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE float exp2_scalar(float x) { return exp2(Vec(x)).data[0]; }

/// Merges the block's maxima into the running ones and rescales sums and output accordingly.
HEADROOM_INLINE void raise_maximum(float scale, std::int64_t rows, const TileState& state,
                                   const float* block_max, std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float old_max = state.max[r];
    if (!(block_max[r] > old_max)) continue;
    state.max[r] = block_max[r];
    if (old_max == kMinusInfinity) continue;  // nothing was added yet
    const Vec factor(exp2_scalar((old_max - block_max[r]) * scale));
    float* sum = state.sum + r * kLanes;
    store(sum, load(sum) * factor);
    float* out = state.out + r * cols;
    for (std::int64_t c = 0; c < cols; c += kLanes) store(out + c, load(out + c) * factor);
  }
}

/// Of the rows whose shifts are far, which become 0.
[[gnu::noinline]] inline void subtract_maxima(const Tile& tile, const KeyBlock& block,
                                              float* scores, float* shifts) {
  const std::int64_t begin = block.first / kLanes * kLanes;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    if (!is_far(shifts[r])) continue;
    const Vec most(tile.state.max[r]);
    const ScoreRow row{scores + r * kChunk, tile.rows * kChunk};
    row.for_vectors(
        begin,
        block.count, [&](float* at) __attribute__((always_inline)) { store(at, load(at) - most); });
    shifts[r] = 0;
  }
}

/// Scores become weights, exp2((score - maximum) * scale), and are added to the rows' sums.
template <int MR>
HEADROOM_INLINE void weigh_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                 float* scores) {
  const Vec scale(task.scale);
  float shifts[MR];
  bool far = false;
  for (int r = 0; r < MR; ++r) {
    shifts[r] = -shift_of(tile.state.max[r]) * task.scale;
    far = far || is_far(shifts[r]);
  }
  if (far) [[unlikely]]
    subtract_maxima(tile, block, scores, shifts);
  for (int r = 0; r < MR; ++r) {
    const Vec shift(shifts[r]);
    Vec sum = load(tile.state.sum + r * kLanes);
    // By chunks, in which the places of a row's scores are neighbours.
    for (std::int64_t c = block.first / kChunk; c * kChunk < block.count; ++c) {
      float* chunk = scores + score_at<MR>(c * kChunk, r);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kChunk; i += kLanes) {
        const std::int64_t k = c * kChunk + i;
        if (kLanes < kChunk && (k + kLanes <= block.first || k >= block.count)) continue;
        const Vec weight = exp2(multiply_add(load(chunk + i), scale, shift));
        store(chunk + i, weight);
        sum += weight;
      }
    }
    store(tile.state.sum + r * kLanes, sum);
  }
}

[[gnu::noinline]] inline void drop_weights(const AttendTask& task, const Tile& tile,
                                           const KeyBlock& block, float* scores, float* factors) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const RowPlace at = place_of(task, tile.row + r);
    const std::uint64_t index = dropout_row(task.dropout_head + at.head, task.position + at.token);
    task.dropout->factors(index, block.begin, block.count, factors);
    for (std::int64_t k = block.first; k < block.count; ++k) {
      scores[score_at(tile.rows, k, r)] *= factors[k];
    }
  }
}

/// Of all rows of the tile; their maxima change too.
[[gnu::noinline]] inline void rule_block(const AttendTask& task, const Tile& tile,
                                         const KeyBlock& block, float* scores, float* room,
                                         float* block_max) {
  const std::int64_t begin = block.first / kLanes * kLanes;
  const std::int64_t end = (block.count + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    block_max[r] = apply_rule(task, tile.row + r, block, begin, end, room, block_max[r],
                              [&](std::int64_t k) { return scores + score_at(tile.rows, k, r); });
  }
}

template <class B, int MR>
[[gnu::noinline]] void attend_block(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                    float* scores, float* factors, const PrefetchRows& prefetch) {
  const std::int64_t cols = padded_cols(task);
  constexpr int kRows = (MR + kLanes - 1) / kLanes * kLanes;
  float block_max[kRows];
  float capped_max[kRows];
  const float* most = block_max;
  if constexpr (kIsRounded<B>) {
    score_rounded<B, MR>(task, tile, block, scores, block_max);
  } else if (task.as_rows) {
    dot_block<B, MR == 1>(task, tile, block, scores, block_max);
  } else if (sizeof(B) == sizeof(float) && tile.found != nullptr) {
    take_scores(task, tile, block, scores, block_max);
  } else {
    score_block<B, MR>(task, tile, block, scores, block_max, prefetch);
  }
  if (task.changes_scores() && !task.adds_at_once)
    rule_block(task, tile, block, scores, factors, block_max);
  if (task.caps_weights()) {
    for (int r = MR; r < kRows; ++r) block_max[r] = 0;
    cap_maxima(task.cap, block_max, MR, capped_max);
    most = capped_max;
  }
  raise_maximum(task.scale, MR, tile.state, most, cols);
  if (task.caps_weights()) {
    weigh_capped(task, tile, block, scores, block_max);
  } else {
    weigh_block<MR>(task, tile, block, scores);
  }
  if (task.dropout != nullptr) drop_weights(task, tile, block, scores, factors);
  if constexpr (kIsRounded<B>) weigh_bytes(task, tile.rows, block, scores);
  if constexpr (kMultipliesBytes<B>) {
    add_values_as_bytes<MR>(task, tile, block, scores, cols);
  } else {
    add_values<MR, B>(task, tile, block, scores, cols);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
