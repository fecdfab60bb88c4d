// Rotary positions: the table of angles, and the turn.
#pragma once

#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/case.hpp"
#include "core/head_view.hpp"
#include "headroom/export.h"

namespace headroom {

/// Cosines and sines of every position up to a capacity: computed in double, rounded once. The same
/// loop serves every backend: it is a hundredth of a layer's work.
class HEADROOM_API RotaryTable {
 public:
  RotaryTable() = default;
  /// Empty for a layer without rotary positions.
  RotaryTable(const Rotary& rotary, std::int64_t head_dim, std::int64_t positions);

  bool empty() const { return pairs_ == Rotary::Pairs::none; }
  /// Turns one block of `count` rows from `first_row` on, which stand at `position` and after.
  void turn(const BlockedView& view, std::int64_t first_row, std::int64_t count, std::int64_t block,
            std::int64_t position) const;
  std::int64_t bytes() const { return angles_.bytes(); }

 private:
  void turn_row(float* row, const float* cosines, const float* sines) const;

  Rotary::Pairs pairs_ = Rotary::Pairs::none;
  std::int64_t half_ = 0;  ///< pairs of a head
  AlignedBuffer angles_;   ///< of each position: `half_` cosines, then `half_` sines
};

}  // namespace headroom
