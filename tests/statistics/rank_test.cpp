// The statistics of comparisons against published values. Where none are published, values of
// scipy 1.17.1 are used, with the call that gives them.
#include "statistics/rank_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace headroom::statistics {
namespace {

// Two samples without ties of which the first has this U: each of its values lies above as many
// values of the second as it adds to U.
RankTest test_with_u(int a, int b, int u) {
  std::vector<double> first;
  std::vector<double> second(static_cast<std::size_t>(b));
  std::iota(second.begin(), second.end(), 1.0);
  for (int i = 0; i < a; ++i) {
    const int above = std::min(b, u);
    u -= above;
    first.push_back(above + 0.5 + 0.001 * i);
  }
  return mann_whitney(first, second);
}

// Critical values of U for a two-sided test at 0.05, sizes 5 to 12 against 5 to 20: table K of
// Siegel, Nonparametric Statistics for the Behavioral Sciences (1956), which textbooks reprint.
// The table lists the largest significant U, so the next one must not be significant.
TEST(MannWhitney, HasTheCriticalValuesOfTheTextbooks) {
  constexpr int kCritical[8][16] = {
      {2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 17, 18, 19, 20},
      {3, 5, 6, 8, 10, 11, 13, 14, 16, 17, 19, 21, 22, 24, 25, 27},
      {5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34},
      {6, 8, 10, 13, 15, 17, 19, 22, 24, 26, 29, 31, 34, 36, 38, 41},
      {7, 10, 12, 15, 17, 20, 23, 26, 28, 31, 34, 37, 39, 42, 45, 48},
      {8, 11, 14, 17, 20, 23, 26, 29, 33, 36, 39, 42, 45, 48, 52, 55},
      {9, 13, 16, 19, 23, 26, 30, 33, 37, 40, 44, 47, 51, 55, 58, 62},
      {11, 14, 18, 22, 26, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69}};
  for (int a = 5; a <= 12; ++a) {
    for (int b = 5; b <= 20; ++b) {
      const int critical = kCritical[a - 5][b - 5];
      const RankTest at = test_with_u(a, b, critical);
      const RankTest beyond = test_with_u(a, b, critical + 1);
      EXPECT_EQ(at.u, critical);
      EXPECT_TRUE(at.exact);
      EXPECT_LE(at.p, 0.05) << a << " and " << b;
      EXPECT_GT(beyond.p, 0.05) << a << " and " << b;
      // The other tail is the same.
      EXPECT_NEAR(test_with_u(a, b, a * b - critical).p, at.p, 1e-15);
    }
  }
}

// The worked example in the documentation of scipy.stats.mannwhitneyu: U = 17, p = 0.1111 exactly,
// and 0.11135 by the normal approximation.
TEST(MannWhitney, WorkedExampleOfScipy) {
  const RankTest test = mann_whitney({19, 22, 16, 29, 24}, {20, 11, 17, 12});
  EXPECT_EQ(test.u, 17);
  EXPECT_NEAR(test.p, 0.1111111111111111, 1e-14);
}

// Hollander and Wolfe, Nonparametric Statistical Methods (1973), p. 69: permeability of the
// chorioamnion, the example of R's wilcox.test; W = 35, one-sided p = 0.1272.
TEST(MannWhitney, WorkedExampleOfHollanderAndWolfe) {
  const RankTest test = mann_whitney({0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                                     {1.15, 0.88, 0.90, 0.74, 1.21});
  EXPECT_EQ(test.u, 35);
  EXPECT_NEAR(test.p / 2, 0.1272, 5e-5);
  EXPECT_NEAR(test.p, 0.2544122544122544, 1e-14);
}

// scipy: mannwhitneyu([1,2,2,3,4,5,5,7], [2,3,3,4,6,6,8,9,9], method='asymptotic')
TEST(MannWhitney, TiesTakeTheCorrectedNormalApproximation) {
  const RankTest test = mann_whitney({1, 2, 2, 3, 4, 5, 5, 7}, {2, 3, 3, 4, 6, 6, 8, 9, 9});
  EXPECT_EQ(test.u, 20.5);
  EXPECT_FALSE(test.exact);
  EXPECT_NEAR(test.p, 0.14591657707914285, 1e-14);
}

// scipy: mannwhitneyu([sin(i) for i in range(1,41)], [sin(1.7*i)+0.3 for i in range(1,31)],
// method='asymptotic'), and range(1,26) twice with method='exact'.
TEST(MannWhitney, LargeSamplesTakeTheNormalApproximation) {
  const auto wave = [](int count, double step, double shift) {
    std::vector<double> values;
    for (int i = 1; i <= count; ++i) values.push_back(std::sin(step * i) + shift);
    return values;
  };
  const RankTest large = mann_whitney(wave(40, 1, 0), wave(30, 1.7, 0.3));
  EXPECT_EQ(large.u, 456);
  EXPECT_FALSE(large.exact);
  EXPECT_NEAR(large.p, 0.08856214004619163, 1e-13);
  const RankTest largest_exact = mann_whitney(wave(25, 1, 0), wave(25, 1.7, 0.3));
  EXPECT_TRUE(largest_exact.exact);
  EXPECT_NEAR(largest_exact.p, 0.11663881126432638, 1e-13);
}

TEST(MannWhitney, EqualSamplesAreNoDifference) {
  EXPECT_EQ(mann_whitney({1, 1, 1}, {1, 1, 1}).p, 1);
  EXPECT_EQ(mann_whitney({1}, {1}).p, 1);
  EXPECT_EQ(mann_whitney({1, 2, 3}, {1, 2, 3}).p, 1);
}

// However far apart: two of the C(n, a) arrangements are as extreme.
TEST(MannWhitney, FewSamplesCannotShowADifference) {
  EXPECT_NEAR(mann_whitney({1, 2, 3}, {4, 5, 6}).p, 2.0 / 20, 1e-15);
  EXPECT_NEAR(mann_whitney({1}, {4, 5, 6}).p, 2.0 / 4, 1e-15);
}

// The 15 p-values of Benjamini and Hochberg's own example (1995, section 4.1), of which their
// procedure rejects four at 0.05. Values: scipy.stats.false_discovery_control.
TEST(CorrectionForMany, IsThatOfBenjaminiAndHochberg) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const std::vector<double> expected{0.0015,
                                     0.003,
                                     0.0095,
                                     0.035625,
                                     0.0603,
                                     0.06385714285714286,
                                     0.06385714285714286,
                                     0.0645,
                                     0.0765,
                                     0.486,
                                     0.5811818181818181,
                                     0.714875,
                                     0.7532307692307693,
                                     0.8132142857142857,
                                     1.0};
  const std::vector<double> corrected = correct_for_many(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(corrected[i], expected[i], 1e-15) << i;
}

TEST(CorrectionForMany, KeepsThePlaceOfEach) {
  const std::vector<double> corrected = correct_for_many({0.9, 0.001, 0.02});
  EXPECT_NEAR(corrected[0], 0.9, 1e-15);
  EXPECT_NEAR(corrected[1], 0.003, 1e-15);
  EXPECT_NEAR(corrected[2], 0.03, 1e-15);
  EXPECT_TRUE(correct_for_many({}).empty());
}

}  // namespace
}  // namespace headroom::statistics
