// Where the scores of a tile lie, and which of them a row may see.
#pragma once

#include "simd/tiles/attend_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The keys of a block that a tile's products take: whole 32s.
struct KeySteps {
  std::int64_t begin, end;
};
HEADROOM_INLINE KeySteps steps_of(const KeyBlock& block) {
  return {block.first / kTileDepth * kTileDepth, whole(block.count, kTileDepth)};
}

HEADROOM_INLINE float* score_row(float* scores, std::int64_t r) {
  return scores + r / kTileSide * kTileSide * kKeyBlock + r % kTileSide * kTileSide;
}
/// Where in its row the score of key `k` is kept.
HEADROOM_INLINE std::int64_t score_of(std::int64_t k) {
  return k / kTileSide * kSums + k % kTileSide;
}

/// As exact as the weights are kept.
template <Precision P>
HEADROOM_INLINE Vec exp2_for(const Vec& x) {
  return exp2_of_degree < P == Precision::bf16 ? 3 : 5 > (x);
}

/// What rows must not see becomes -inf, in those vectors of keys that some row does not see.
HEADROOM_INLINE void mask_tile(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               float* scores) {
  const KeySteps keys = steps_of(block);
  if (block.common_begin <= keys.begin && block.common_end >= keys.end) return;
  // Between these all rows see all.
  const std::int64_t seen_begin = whole(block.common_begin, kLanes);
  const std::int64_t seen_end = block.common_end / kLanes * kLanes;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const KeyRange seen = seen_keys(task, rows.row + r);
    float* row = score_row(scores, r);
    for (std::int64_t k = keys.begin; k < keys.end; k += kLanes) {
      if (k == seen_begin && seen_end > k) {
        k = seen_end;
        if (k == keys.end) break;
      }
      float* at = row + score_of(k);
      const std::int64_t lane = block.begin + k;
      const Vec below = only_below(load(at), seen.end - lane);
      store(at, seen.begin > lane ? only_from(below, seen.begin - lane) : below);
    }
  }
}

/// Maxima are found later. @param room for a block of keys
[[gnu::noinline]] inline void apply_rule_to_tile(const AttendTask& task, const Tile& rows,
                                                 const KeyBlock& block, float* scores,
                                                 float* room) {
  const KeySteps keys = steps_of(block);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float* row = score_row(scores, r);
    apply_rule(task, rows.row + r, block, keys.begin, keys.end, room, 0,
               [&](std::int64_t k) { return row + score_of(k); });
  }
}

HEADROOM_INLINE void draw_factors(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                  float* factors) {
  const std::uint64_t index =
      dropout_row(task.dropout_head + row % task.group, task.position + row / task.group);
  task.dropout->factors(index, block.begin, block.count, factors);
  for (std::int64_t k = block.count; k % kTileDepth != 0; ++k) factors[k] = 0;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
