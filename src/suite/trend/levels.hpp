// The levels of one series of versions, and what their spread says.
#pragma once

#include <cstddef>
#include <vector>

namespace headroom::trend {

/// What one version took.
struct Level {
  double value = 0;   ///< logarithm of a time, because a spread of times is a share of the time
  double within = 0;  ///< variance of that value as its own launches show it; 0: not known
};

/// One machine's versions of a cell, oldest first.
using Levels = std::vector<Level>;

/// The level of a version from the logarithms of its launches' medians: their median, which one bad
/// launch does not move. @pre not empty
Level level_of(const std::vector<double>& launches);

/// All of the levels from `begin` up to `end`. @pre there are any
double mean_of(const Levels& levels, std::size_t begin, std::size_t end);
/// The mean variance that launches show.
double within_of(const Levels& levels, std::size_t begin, std::size_t end);
/// Sum of the squared distances from their mean.
double squares_of(const Levels& levels, std::size_t begin, std::size_t end);

/// Two-sided p of a difference whose variance is estimated, by Student's t. Without any spread
/// there is a difference or there is none: 0 or 1.
double p_of(double squared_difference, double variance, double freedom);

}  // namespace headroom::trend
