// Confidence intervals: as often right as they say, for samples of one process and of several.
#include "statistics/intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "statistics/samples.hpp"
#include "support/sample_lists.hpp"

namespace headroom::statistics::intervals_test {
namespace {

using test::kNoisy;
using test::launches;
using test::times;

TEST(Interval, OfOneValueIsThatValue) {
  const Interval interval = bootstrap_median_ci95({{0.25}}, 1);
  EXPECT_DOUBLE_EQ(interval.low, 0.25);
  EXPECT_DOUBLE_EQ(interval.high, 0.25);
}

TEST(Interval, IsReproducibleAndHoldsTheMedian) {
  const std::vector<double> samples{1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 0.99, 1.01, 5.0};
  const Interval a = bootstrap_median_ci95({samples}, 7);
  const Interval b = bootstrap_median_ci95({samples}, 7);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, median(samples));
  EXPECT_GE(a.high, median(samples));
  EXPECT_GT(a.high, a.low);
  EXPECT_LT(a.high, 5.0) << "one outlier among nine must not reach the median's interval";
}

// The median of six draws is the mean of the third and the fourth. By counting, it is at most 1 in
// 0.9 % and at most 1.5 in 3.5 % of all draws, and as often at the other end.
TEST(Interval, OfAnEvenNumberTakesTheMeanOfBothMiddles) {
  const Interval interval = bootstrap_median_ci95({{1, 2, 3, 4, 5, 6}}, 1);
  EXPECT_EQ(interval.low, 1.5);
  EXPECT_EQ(interval.high, 5.5);
}

// The median of a bootstrap sample of n = 9 lies at rank 2 to 8 in 95 of 100 cases: the binomial
// probability of its being rank 1, for example, is P(at least 5 of 9 draws hit rank 1) = 0.001.
TEST(Interval, OfNineRanksIsTheBinomialOne) {
  std::vector<double> ranks{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Interval interval = bootstrap_median_ci95({ranks}, 3);
  // P(rank <= 2) = P(Bin(9, 2/9) >= 5) = 0.027 > 0.025; so the 2.5th percentile is rank 2.
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.high, 8);
}

constexpr int kTrials = 300;

// Of so many intervals, how many hold the true value.
int covered(double truth, const std::function<Interval(std::uint64_t seed)>& interval_of) {
  int count = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Interval interval = interval_of(static_cast<std::uint64_t>(trial));
    if (interval.low <= truth && truth <= interval.high) ++count;
  }
  return count;
}

TEST(Interval, CoversTheTrueMedianAboutAsOftenAsItSays) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> noise(10, 1);
  const int right = covered(10, [&](std::uint64_t seed) {
    std::vector<double> samples(15);
    std::generate(samples.begin(), samples.end(), [&] { return noise(generator); });
    return bootstrap_median_ci95({samples}, seed);
  });
  EXPECT_GE(right, kTrials * 88 / 100);
}

Interval interval_of_ratio(const std::vector<double>& base, const std::vector<double>& next,
                           std::uint64_t seed) {
  return RatioBootstrap({base.size()}, {next.size()}, seed).ci95({base}, {next});
}

TEST(RatioInterval, IsReproducibleAndHoldsTheRatio) {
  const Interval a = interval_of_ratio(kNoisy, times(kNoisy, 1.5), 7);
  const Interval b = interval_of_ratio(kNoisy, times(kNoisy, 1.5), 7);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LT(a.low, 1.5);
  EXPECT_GT(a.high, 1.5);
  const Interval single = interval_of_ratio({2}, {3}, 1);
  EXPECT_EQ(single.low, 1.5);
  EXPECT_EQ(single.high, 1.5);
}

TEST(RatioInterval, CoversTheTrueRatioAboutAsOftenAsItSays) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> noise(10, 0.5);
  const int right = covered(1.2, [&](std::uint64_t seed) {
    std::vector<double> base(15);
    std::vector<double> next(15);
    std::generate(base.begin(), base.end(), [&] { return noise(generator); });
    std::generate(next.begin(), next.end(), [&] { return 1.2 * noise(generator); });
    return interval_of_ratio(base, next, seed);
  });
  EXPECT_GE(right, kTrials * 90 / 100);
  EXPECT_LE(right, kTrials * 99 / 100) << "the interval is too wide";
}

TEST(ByProcess, SamplesAreApartByTheProcessThatTookThem) {
  EXPECT_EQ(by_process({1, 2, 3}, {}), (SamplesByProcess{{1, 2, 3}}));
  EXPECT_EQ(by_process({1, 2, 3, 4}, {0, 2, 0, 2}), (SamplesByProcess{{1, 3}, {2, 4}}));
  EXPECT_EQ(counts_of({{1, 3}, {2}}), (SampleCounts{2, 1}));
  EXPECT_EQ(pooled({{1, 3}, {2}}), (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(process_medians({{1, 3, 9}, {2}}), (std::vector<double>{3, 2}));
  EXPECT_EQ(pooled_median({{1, 3, 9}, {2}}), 2.5);
}

// The same samples, taken for independent, give intervals that miss it far more often.
TEST(ByProcess, IntervalCoversTheTrueMedianAboutAsOftenAsItSays) {
  std::mt19937_64 generator(5), again(5);
  const auto samples = [](std::mt19937_64& from) { return launches(10, 0.05, 0.01, from); };
  const int right = covered(
      10, [&](std::uint64_t seed) { return bootstrap_median_ci95(samples(generator), seed); });
  const int right_without = covered(10, [&](std::uint64_t seed) {
    return bootstrap_median_ci95({pooled(samples(again))}, seed);
  });
  EXPECT_GE(right, kTrials * 91 / 100);
  EXPECT_LE(right_without, kTrials * 85 / 100) << "this test would not notice";
}

TEST(ByProcess, IntervalOfARatioCoversTheTrueOneAboutAsOftenAsItSays) {
  std::mt19937_64 generator(6);
  const int right = covered(1, [&](std::uint64_t seed) {
    const SamplesByProcess base = launches(10, 0.03, 0.01, generator);
    const SamplesByProcess next = launches(10, 0.03, 0.01, generator);
    return RatioBootstrap(counts_of(base), counts_of(next), seed).ci95(base, next);
  });
  EXPECT_GE(right, kTrials * 91 / 100);
  EXPECT_LE(right, kTrials * 99 / 100) << "the interval is too wide";
}

}  // namespace
}  // namespace headroom::statistics::intervals_test
