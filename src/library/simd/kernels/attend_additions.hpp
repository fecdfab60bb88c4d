// What is added to a tile's scores before they leave their registers: a pass over them later would
// wait for each.
#pragma once

#include <numbers>

#include "core/call/read_mask.hpp"
#include "simd/kernels/attend_tile.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

struct ThisLevel;

/// What a mask adds to scores, see `kRuleUnit`: masks have values such as the lowest float, and a
/// row of nothing else has weights.
HEADROOM_INLINE Vec in_rule_unit(const Vec& mask) {
  return mask * Vec(std::numbers::log2e_v<float> / kRuleUnit);
}

/// A score times its scale, plus the mask; a key that the mask hides stays hidden, whatever its
/// score.
HEADROOM_INLINE Vec add_to_score(const Vec& score, const Vec& scale, const Vec& mask) {
  const Vec none(kMinusInfinity);
  return xsimd::select(mask == none, none, multiply_add(score, scale, in_rule_unit(mask)));
}

/// Of a mask by distance alone. Beside the keys that rows see it reads what a table has there, or
/// `DistanceTable::kBeside`.
struct Distances {
  const float* first;  ///< of the tile's first row, and key 0 of the block
  Vec scale;

  HEADROOM_INLINE Distances(const AttendTask& task, const Tile& tile, const KeyBlock& block)
      : first(task.distances + block.begin - tile.row), scale(task.distance_scale) {}

  HEADROOM_INLINE Vec changed(const Vec& score, std::int64_t r, std::int64_t k) const {
    return multiply_add(load(first + k - r), scale, score);
  }
};

/// Of a mask whose numbers for a row lie side by side.
/// @tparam T of them: float or Half
template <class T>
struct Additions {
  const T* first;  ///< as of `Distances`
  std::int64_t row_stride;
  Vec scale;

  HEADROOM_INLINE Additions(const AttendTask& task, const T* values, const Tile& tile,
                            const KeyBlock& block)
      : first(values + task.mask.place_of(0, tile.row, block.begin)),
        row_stride(task.mask.row_stride),
        scale(task.rule_scale) {}

  HEADROOM_INLINE Vec changed(const Vec& score, std::int64_t r, std::int64_t k) const {
    return add_to_score(score, scale, load(first + r * row_stride + k));
  }
};

/// Calls `f` with what is added in registers, if anything is.
/// @param all rows see all keys: a mask may have no more than the last of them
template <class F>
HEADROOM_INLINE void with_additions(const AttendTask& task, const Tile& tile, const KeyBlock& block,
                                    bool all, F&& f) {
  if (task.distances != nullptr) f(Distances(task, tile, block));
  if (!task.adds_at_once || !all) return;
  if (task.mask.added != nullptr) {
    f(Additions<float>(task, task.mask.added, tile, block));
  } else {
    f(Additions<Half>(task, reinterpret_cast<const Half*>(task.mask.added_bf16), tile, block));
  }
}

/// One vector of a row's scores with what `Additions` adds, as far as there are keys.
/// @param key of the first lane
HEADROOM_INLINE Vec add_some(const AttendTask& task, const Vec& score, std::int64_t row,
                             std::int64_t key) {
  alignas(64) float mask[kLanes] = {};
  const std::int64_t count = clamp(task.key_count - key, 0, kLanes);
  read_mask_as<ThisLevel>(task.mask, 0, row, key, count, mask);
  return add_to_score(score, Vec(task.rule_scale), load(mask));
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
