// Rotary positions of the oracle, in double.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace headroom::reference {

/// Where a token is, in time, height and width; for most models three times the same.
using Whereabouts = std::array<std::int64_t, 3>;

/// Turns queries and keys by their positions; does nothing for a shape without rotary positions.
class Rotation {
 public:
  /// @param reach tokens, for shapes that turn otherwise in long contexts
  explicit Rotation(const Case& shape, std::int64_t reach = 0);

  /// Turns each head of one token: pair `(a, b)` becomes `(a cos - b sin, a sin + b cos)`. Sizes
  /// become `|cos| size_a + |sin| size_b` and `|sin| size_a + |cos| size_b`.
  void turn(const Whereabouts& token, std::int64_t heads, double* values, double* sizes) const;

 private:
  std::int64_t head_dim_;
  std::int64_t first_ = 0;  // value of a head that turns
  std::int64_t step_;       // from a pair's first value to the next pair's
  std::int64_t distance_;   // from a pair's first value to its second
  double amplitude_;
  std::vector<double> frequencies_;  // angle per position of each pair; empty for none
  std::vector<std::size_t> axes_;    // of a token's whereabouts, which it turns by
};

}  // namespace headroom::reference
