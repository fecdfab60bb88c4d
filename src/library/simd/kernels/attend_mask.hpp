// A mask that the caller brings: it changes scores of a block before they become weights.
#pragma once

#include <limits>
#include <numbers>

#include "core/call/score_mask.hpp"
#include "simd/kernels/attend_cap.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// What is added to a row's scores for the keys of a block, times log2(e); -inf for hidden ones.
HEADROOM_INLINE void read_block_mask(const AttendTask& task, std::int64_t row,
                                     const KeyBlock& block, std::int64_t begin, std::int64_t end,
                                     float* room) {
  const RowPlace place = place_of(task, row);
  for (std::int64_t k = begin; k < block.first; ++k) room[k] = kMinusInfinity;
  read_mask(task.mask, place.head, place.token, block.begin + block.first,
            block.count - block.first, room + block.first);
  for (std::int64_t k = block.count; k < end; ++k) room[k] = kMinusInfinity;
}

/// A row's scores times their scale, capped, plus the mask, all times log2(e). Scaled here and not
/// where the maximum is subtracted: masks have values such as the lowest float, which log2(e) times
/// a scale would turn into -inf, so that a row of nothing else had no weights.
/// @param begin, end of the keys in the block, whole vectors of which have scores
/// @param room for those of a block
/// @param at where the scores of a vector of keys are
/// @return the row's maximum
template <class At>
HEADROOM_INLINE float apply_rule(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                 std::int64_t begin, std::int64_t end, float* room, At&& at) {
  constexpr auto kLog2e = std::numbers::log2e_v<float>;
  read_block_mask(task, row, block, begin, end, room);
  const Vec none(kMinusInfinity);
  const Vec lowest(std::numeric_limits<float>::lowest());
  const Vec scale(task.rule_scale);
  Vec most = none;
  for (std::int64_t k = begin; k < end; k += kLanes) {
    float* scores = at(k);
    const Vec score = load(scores);
    const Vec mask = load(room + k);
    const Vec added = max_or_second(lowest, mask * Vec(kLog2e));
    const Vec all =
        task.cap.any() ? capped(task.cap, score, added) : multiply_add(score, scale, added);
    const Vec sum = xsimd::select(mask == none, none, all);
    store(scores, sum);
    most = max_or_second(most, sum);
  }
  return max_lanes(most);
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
