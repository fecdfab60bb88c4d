// Cosines and sines of rotary positions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"

namespace headroom {

/// In time, height and width; all the same where a token has one position.
using TokenPosition = std::array<std::int64_t, 3>;

/// Computed in double and rounded once, so a position has the same bits in a table and in a call
/// that gives it.
class HEADROOM_API RotaryAngles {
 public:
  RotaryAngles() = default;
  explicit RotaryAngles(const LayerConfig& config);

  /// Of a head.
  std::int64_t pairs() const { return static_cast<std::int64_t>(steps_.size()); }
  /// Value of a head where its pairs begin.
  std::int64_t first_value() const { return first_value_; }
  /// What `write` writes.
  std::int64_t floats() const { return 2 * pairs(); }
  /// Turns by what holds for calls that reach so far. Before, and where the layer does not change
  /// with the length, it is what holds for short ones.
  void reach(std::int64_t tokens);
  /// A cosine for each pair, then as many sines.
  void write(const TokenPosition& position, float* row) const;
  /// The same, from what was written for positions 0, 1 and on, one after the other.
  /// @pre all three are there
  void copy(const float* table, const TokenPosition& position, float* row) const;

 private:
  void set_steps(double base, const std::vector<double>& divisors);

  Rotary rotary_;
  std::vector<double> steps_;    ///< of each pair: its angle at position 1
  std::vector<std::size_t> of_;  ///< which position it turns by
  std::int64_t first_value_ = 0;
};

}  // namespace headroom
