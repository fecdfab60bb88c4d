// What a handful of samples says: the middle, the spread, and an interval by resampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::statistics {

/// Middle value; the mean of the two middle ones for an even count. @pre not empty.
double median(std::vector<double> values);

/// Arithmetic mean. @pre not empty.
double mean(const std::vector<double>& values);

/// Of a sample, with `n - 1` in the divisor; 0 for a single value. @pre not empty.
double standard_deviation(const std::vector<double>& values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The interval that holds the median in 95 of 100 cases: the 2.5th and 97.5th percentile of the
/// medians of many samples drawn, with replacement, from the given ones (percentile bootstrap).
/// The same seed gives the same interval. A single value is its own interval. @pre not empty.
Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed);

/// Which of all values a share lies at or below, such as 0.9 for the 90th percentile. @pre not
/// empty.
double percentile(std::vector<double> values, double share);

/// The range of a list without its outer tenths, over its median. @pre not empty, median not 0.
double scatter(const std::vector<double>& values);

/// Intervals of `median(next) / median(base)`, both drawn anew each time. Pairs with as many
/// samples can share the draws.
class RatioBootstrap {
 public:
  RatioBootstrap(std::size_t base_count, std::size_t next_count, std::uint64_t seed);

  /// @pre as many samples as given at construction, all of `base` above 0.
  Interval ci95(const std::vector<double>& base, const std::vector<double>& next) const;

  /// Ranks of the two middle values of a sample; for an odd count the same one twice.
  struct Middle {
    std::size_t low = 0;
    std::size_t high = 0;
  };

 private:
  std::vector<Middle> base_, next_;
};

// Of five samples the whole range holds the median in 94 of 100 cases, of four in 88: with fewer
// there is no interval of 95 %.
inline constexpr std::size_t kLeastSamples = 5;

}  // namespace headroom::statistics
