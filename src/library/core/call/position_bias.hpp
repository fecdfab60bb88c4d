// Biases by position as a table of distances.
#pragma once

#include <cstdint>
#include <vector>

#include "core/call/score_mask.hpp"
#include "core/case.hpp"
#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// The bucket of a distance `key - query`, as T5 has them: half of the buckets hold one distance
/// each, the others grow with its logarithm.
HEADROOM_API std::int64_t distance_bucket(const LayerConfig& config, std::int64_t distance);

/// What is added to scores, for every head and every distance up to a reach: of each head 2 reach -
/// 1 floats, those of keys before the query first.
class HEADROOM_API DistanceTable {
 public:
  /// Floats that may be read before and after those of the heads; they mean nothing.
  static constexpr std::int64_t kBeside = 64;

  DistanceTable() = default;
  /// @param values as `WeightViews::position_bias`
  DistanceTable(const LayerConfig& config, const ConstAnyMatrix& values);

  bool empty() const { return values_.empty(); }
  /// Makes room for sequences of so many tokens.
  void reach(std::int64_t tokens);
  std::int64_t bytes() const;
  /// For a call. Does nothing if there is nothing to add.
  void add_to(ScoreMask& mask) const;

 private:
  LayerConfig config_;
  std::vector<float> values_;  // as they are given, row by row
  std::vector<float> table_;
  float largest_ = 0;  // magnitude in the table
  std::int64_t reach_ = 0;
};

}  // namespace headroom
