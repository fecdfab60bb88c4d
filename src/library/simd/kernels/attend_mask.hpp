// A mask that the caller brings: it changes scores of a block before they become weights.
#pragma once

#include "simd/kernels/attend_additions.hpp"
#include "simd/kernels/attend_cap.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// What is added to a row's scores for the keys of a block, unscaled; -inf for hidden ones.
HEADROOM_INLINE void read_block_mask(const AttendTask& task, std::int64_t row,
                                     const KeyBlock& block, std::int64_t begin, std::int64_t end,
                                     float* room) {
  const RowPlace place = place_of(task, row);
  for (std::int64_t k = begin; k < block.first; ++k) room[k] = kMinusInfinity;
  if (!task.mask.any()) {  // of scores that are only capped
    for (std::int64_t k = block.first; k < block.count; ++k) room[k] = 0;
  }
  read_mask_as<ThisLevel>(task.mask, place.head, place.token, block.begin + block.first,
                          block.count - block.first, room + block.first);
  for (std::int64_t k = block.count; k < end; ++k) room[k] = kMinusInfinity;
}

/// Whether a mask that only hides keys hides none of a block. Most blocks have none to hide, or
/// nothing else, so a look at their bytes is all that such a mask costs.
HEADROOM_INLINE bool hides_none(const AttendTask& task, std::int64_t row, const KeyBlock& block) {
  const ScoreMask& mask = task.mask;
  const RowPlace place = place_of(task, row);
  const std::uint8_t* seen =
      mask.seen + mask.place_of(place.head, place.token, block.begin + block.first);
  if (mask.key_stride == 0) return *seen != 0;
  if (mask.key_stride != 1) return false;
  const std::int64_t count = block.count - block.first;
  std::uint8_t least = 1;
  for (std::int64_t k = 0; k < count; ++k) least = seen[k] < least ? seen[k] : least;
  return least != 0;
}

/// Changes a row's scores by what is read of the mask.
/// @param rule of a vector of scores, and of the mask's values beside them
/// @return the row's maximum
template <class At, class Rule>
HEADROOM_INLINE float change_scores(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                    std::int64_t begin, std::int64_t end, float* room, At&& at,
                                    const Rule& rule) {
  read_block_mask(task, row, block, begin, end, room);
  const Vec none(kMinusInfinity);
  Vec most = none;
  for (std::int64_t k = begin; k < end; k += kLanes) {
    float* scores = at(k);
    const Vec mask = load(room + k);
    const Vec changed = xsimd::select(mask == none, none, rule(load(scores), mask));
    store(scores, changed);
    most = max_or_second(most, changed);
  }
  return max_lanes(most);
}

/// Scores of keys that the mask hides become -inf. With a mask that adds, or a cap, all become the
/// score times its scale, capped, plus the mask, in `kRuleUnit`.
/// @param begin, end of the keys in the block, whole vectors of which have scores
/// @param room for those of a block
/// @param at where the scores of a vector of keys are
/// @param most the row's maximum before
/// @return the row's maximum
template <class At>
HEADROOM_INLINE float apply_rule(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                 std::int64_t begin, std::int64_t end, float* room, float most,
                                 At&& at) {
  const auto change = [&](const auto& rule) __attribute__((always_inline)) {
    return change_scores(task, row, block, begin, end, room, at, rule);
  };
  if (task.only_hides()) {
    if (hides_none(task, row, block)) return most;
    return change([](const Vec& score, const Vec&)
                      __attribute__((always_inline)) { return score; });
  }
  const Vec scale(task.rule_scale);
  if (task.cap.any()) {
    return change([&](const Vec& score, const Vec& mask) __attribute__((always_inline)) {
      return capped(task.cap, score, in_rule_unit(mask));
    });
  }
  return change([&](const Vec& score, const Vec& mask)
                    __attribute__((always_inline)) { return add_to_score(score, scale, mask); });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
