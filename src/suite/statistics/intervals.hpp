// Confidence intervals of medians, from samples that one or several processes took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::statistics {

/// The samples of one thing, apart by the process that took them. What differs from launch to
/// launch, such as where pages lie, is the same for all samples of a process, so these are not
/// independent of each other.
using SamplesByProcess = std::vector<std::vector<double>>;

/// @param processes which process took each sample; empty if one took all. Any numbers, such as
///        0 0 0 1 1 1.
SamplesByProcess by_process(const std::vector<double>& samples, const std::vector<int>& processes);

/// All samples, process after process.
std::vector<double> pooled(const SamplesByProcess& samples);

/// Of all samples together. @pre not empty.
double pooled_median(const SamplesByProcess& samples);

/// Of the samples of each process.
std::vector<double> process_medians(const SamplesByProcess& samples);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The 95 % confidence interval of the median, by a hierarchical bootstrap: as many processes as
/// there are are drawn, with replacement, and of each as many samples as it took (Kalibera and
/// Jones 2013, Rigorous Benchmarking in Reasonable Time). The interval holds the middle 95 % of the
/// medians of many such draws; with several processes more than that, because a few of them
/// understate the spread (expanded percentiles: Hesterberg 2015, Am. Stat. 69). The same seed gives
/// the same interval. A single value is its own interval. @pre not empty.
Interval bootstrap_median_ci95(const SamplesByProcess& samples, std::uint64_t seed);

/// How many samples each process took.
using SampleCounts = std::vector<std::size_t>;

SampleCounts counts_of(const SamplesByProcess& samples);

/// Bootstrap intervals of `median(next) / median(base)`, with both sides resampled. Pairs with
/// equal sample counts can share the draws.
class RatioBootstrap {
 public:
  RatioBootstrap(const SampleCounts& base, const SampleCounts& next, std::uint64_t seed);

  /// @pre the sample counts are those given at construction, and all of `base` is above 0.
  Interval ci95(const SamplesByProcess& base, const SamplesByProcess& next) const;

 private:
  /// Places among all samples, process after process.
  using Draw = std::vector<std::size_t>;

  std::vector<Draw> base_, next_;
  double tail_ = 0;
};

}  // namespace headroom::statistics
