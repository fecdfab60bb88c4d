// Where the sequences of a call lie among its rows and keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace headroom::reference {

/// Rows of x and y, one sequence after the other.
class Sequences {
 public:
  explicit Sequences(const Case& shape) {
    starts_.push_back(0);
    for (std::int64_t s = 0; s < shape.batch; ++s) {
      starts_.push_back(starts_.back() + shape.length(s));
    }
  }

  std::int64_t first(std::int64_t sequence) const {
    return starts_[static_cast<std::size_t>(sequence)];
  }
  std::int64_t length(std::int64_t sequence) const { return first(sequence + 1) - first(sequence); }
  /// The sequence of a row; never an empty one.
  std::int64_t of(std::int64_t row) const {
    return std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin() - 1;
  }

 private:
  std::vector<std::int64_t> starts_;  // and where the last one ends
};

/// The first key that any row of a sequence sees: a window or a chunk may hide the oldest ones from
/// all.
inline std::int64_t first_seen_key(const Case& shape) {
  if (shape.chunk > 0) return shape.past - shape.past % shape.chunk;
  return shape.window > 0 ? std::max<std::int64_t>(0, shape.past + 1 - shape.window) : 0;
}

/// Keys of a sequence from that one on; of the longest, if lengths differ.
inline std::int64_t seen_keys(const Case& shape) { return shape.context() - first_seen_key(shape); }

}  // namespace headroom::reference
