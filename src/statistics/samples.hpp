// Statistics of a small set of samples: median, spread, and a bootstrap confidence interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::statistics {

/// Middle value; the mean of the two middle ones for an even count. @pre not empty.
double median(std::vector<double> values);

/// Arithmetic mean. @pre not empty.
double mean(const std::vector<double>& values);

/// Sample standard deviation, with the divisor `n - 1`; 0 for a single value. @pre not empty.
double standard_deviation(const std::vector<double>& values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The 95 % confidence interval of the median: the 2.5th and 97.5th percentiles of the medians of
/// many samples drawn, with replacement, from the given ones (percentile bootstrap). The same seed
/// gives the same interval. A single value is its own interval. @pre not empty.
Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed);

/// The smallest value that at least this share of all values does not exceed, such as 0.9 for the
/// 90th percentile. @pre not empty.
double percentile(std::vector<double> values, double share);

/// The range between the 10th and 90th percentiles, over the median. @pre not empty, median not 0.
double scatter(const std::vector<double>& values);

/// Bootstrap intervals of `median(next) / median(base)`, with both sides resampled. Pairs with
/// equal sample counts can share the draws.
class RatioBootstrap {
 public:
  RatioBootstrap(std::size_t base_count, std::size_t next_count, std::uint64_t seed);

  /// @pre the sample counts are those given at construction, and all of `base` is above 0.
  Interval ci95(const std::vector<double>& base, const std::vector<double>& next) const;

  /// Ranks of the two middle values of a sample; for an odd count the same one twice.
  struct Middle {
    std::size_t low = 0;
    std::size_t high = 0;
  };

 private:
  std::vector<Middle> base_, next_;
};

// The whole range of five samples contains the median in 94 of 100 cases, that of four in 88. With
// fewer than five there is no 95 % interval.
inline constexpr std::size_t kLeastSamples = 5;

}  // namespace headroom::statistics
