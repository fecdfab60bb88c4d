// Cuts series into parts within which nothing differs.
#pragma once

#include <cstddef>
#include <vector>

#include "trend/levels.hpp"

namespace headroom::trend {

/// A lone version may have had bad luck, so a step has as many on each side.
inline constexpr std::size_t kLeastOfASide = 2;
inline constexpr std::size_t kLeastVersions = 2 * kLeastOfASide;

/// Of all steps that are claimed, the share that is expected to be false. Where nothing changed in
/// any cell, it is the probability that a step is claimed at all.
inline constexpr double kFalseSteps = 0.01;

struct Cuts {
  std::vector<std::size_t> at;  ///< the first level after each, sorted
  double p = 0;                 ///< the largest that led to a cut, corrected for places and series
};

/// See `find_steps`, which also asks whether a cut matters. @return the cuts of each series
std::vector<Cuts> cut(const std::vector<const Levels*>& series);

}  // namespace headroom::trend
