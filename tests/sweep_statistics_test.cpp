#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sweep/statistics.hpp"

namespace headroom::sweep {
namespace {

TEST(Statistics, Median) {
  EXPECT_DOUBLE_EQ(median({3}), 3);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({2, 2, 2, 100}), 2);
}

// NIST/SEMATECH e-Handbook, dataset NumAcc1: mean 10000002, standard deviation exactly 1.
TEST(Statistics, MeanAndStandardDeviation) {
  EXPECT_DOUBLE_EQ(mean({10000001, 10000003, 10000002}), 10000002);
  EXPECT_DOUBLE_EQ(standard_deviation({10000001, 10000003, 10000002}), 1);
  EXPECT_DOUBLE_EQ(standard_deviation({7}), 0);
}

TEST(Statistics, IntervalOfOneValueIsThatValue) {
  const Interval interval = bootstrap_median_ci95({0.25}, 1);
  EXPECT_DOUBLE_EQ(interval.low, 0.25);
  EXPECT_DOUBLE_EQ(interval.high, 0.25);
}

TEST(Statistics, IntervalIsReproducibleAndHoldsTheMedian) {
  const std::vector<double> samples{1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 0.99, 1.01, 5.0};
  const Interval a = bootstrap_median_ci95(samples, 7);
  const Interval b = bootstrap_median_ci95(samples, 7);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, median(samples));
  EXPECT_GE(a.high, median(samples));
  EXPECT_GT(a.high, a.low);
  EXPECT_LT(a.high, 5.0) << "one outlier among nine must not reach the median's interval";
}

// The median of a bootstrap sample of n = 9 lies at rank 2 to 8 in 95 of 100 cases: the binomial
// probability of its being rank 1, for example, is P(at least 5 of 9 draws hit rank 1) = 0.001.
TEST(Statistics, IntervalOfNineRanksIsTheBinomialOne) {
  std::vector<double> ranks{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Interval interval = bootstrap_median_ci95(ranks, 3);
  // P(rank <= 2) = P(Bin(9, 2/9) >= 5) = 0.027 > 0.025; so the 2.5th percentile is rank 2.
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.high, 8);
}

TEST(Statistics, IntervalCoversTheTrueMedianAboutAsOftenAsItSays) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> noise(10, 1);
  int covered = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(15);
    std::generate(samples.begin(), samples.end(), [&] { return noise(generator); });
    const Interval interval = bootstrap_median_ci95(samples, static_cast<std::uint64_t>(trial));
    if (interval.low <= 10 && 10 <= interval.high) ++covered;
  }
  EXPECT_GE(covered, kTrials * 88 / 100);
}

}  // namespace
}  // namespace headroom::sweep
