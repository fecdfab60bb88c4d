// What a handful of samples says.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::sweep {

/// Middle value; the mean of the two middle ones for an even count. @pre not empty.
double median(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The interval that holds the median in 95 of 100 cases: the 2.5th and 97.5th percentile of the
/// medians of many samples drawn, with replacement, from the given ones (percentile bootstrap).
/// The same seed gives the same interval. A single value is its own interval. @pre not empty.
Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed);

}  // namespace headroom::sweep
