// Positions that tests give to a call.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace headroom::test {

/// Of its tokens, those of each axis.
using Positions = std::array<std::vector<std::int64_t>, 3>;

/// As a call takes them.
inline std::vector<std::int64_t> one_list(const Positions& positions) {
  std::vector<std::int64_t> all;
  for (const auto& axis : positions) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

inline Positions part_of(const Positions& positions, std::int64_t first, std::int64_t count) {
  Positions part;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (positions[axis].empty()) continue;
    const auto begin = positions[axis].begin() + first;
    part[axis].assign(begin, begin + count);
  }
  return part;
}

inline void append_to(Positions& positions, const Positions& more) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    positions[axis].insert(positions[axis].end(), more[axis].begin(), more[axis].end());
  }
}

}  // namespace headroom::test
