// Student's t against the tables of the textbooks, and Welch's test against known cases.
#include "statistics/student_t.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace headroom::statistics::student_t_test {
namespace {

TEST(StudentT, HasTheCriticalValuesOfTheTextbooks) {
  // Degrees of freedom, and the t of two-sided 5 % and 1 %, to four decimals.
  constexpr double kTable[][3] = {{1, 12.7062, 63.6567},
                                  {2, 4.3027, 9.9248},
                                  {4, 2.7764, 4.6041},
                                  {8, 2.3060, 3.3554},
                                  {30, 2.0423, 2.7500}};
  for (const auto& [freedom, five, one] : kTable) {
    EXPECT_NEAR(student_t_p(five, freedom), 0.05, 5e-6) << freedom;
    EXPECT_NEAR(student_t_p(-one, freedom), 0.01, 5e-6) << freedom;
    EXPECT_NEAR(student_t_quantile(0.05, freedom), five, 1e-4) << freedom;
    EXPECT_NEAR(student_t_quantile(0.01, freedom), one, 1e-4) << freedom;
  }
}

// With one degree of freedom it is the Cauchy distribution, with many the normal one.
TEST(StudentT, HasItsKnownLimits) {
  for (const double t : {0.0, 0.1, 1.0, 5.0, 1000.0}) {
    EXPECT_NEAR(student_t_p(t, 1), 1 - 2 / M_PI * std::atan(t), 1e-12) << t;
  }
  EXPECT_NEAR(student_t_p(2.5, 1e7), std::erfc(2.5 / std::sqrt(2.0)), 1e-6);
  EXPECT_EQ(student_t_p(0, 3.7), 1);
}

// By hand: means 2 and 5, squared errors 1/3 and 4/3, t = -3 / sqrt(5/3), freedom = 2.9412.
TEST(Welch, MatchesItsDefinition) {
  const double t = 3 / std::sqrt(5.0 / 3);
  const double freedom = (25.0 / 9) / ((1.0 / 9) / 2 + (16.0 / 9) / 2);
  EXPECT_NEAR(welch_p({1, 2, 3}, {3, 5, 7}), student_t_p(t, freedom), 1e-12);
  EXPECT_NEAR(freedom, 2.9412, 1e-4);
  EXPECT_EQ(welch_p({1, 2, 3}, {3, 5, 7}), welch_p({3, 5, 7}, {1, 2, 3}));
}

TEST(Welch, WithoutASpreadOnlyTheMeansCount) {
  EXPECT_EQ(welch_p({2, 2}, {2, 2, 2}), 1);
  EXPECT_EQ(welch_p({2, 2}, {3, 3}), 0);
}

TEST(Welch, IsRightAboutEqualListsAsOftenAsItSays) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> unit(0, 1);
  int different = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a(5), b(5);
    for (double& value : a) value = unit(generator);
    for (double& value : b) value = 3 * unit(generator);
    if (welch_p(a, b) < 0.05) ++different;
  }
  EXPECT_NEAR(different / static_cast<double>(kTrials), 0.05, 0.015);
}

}  // namespace
}  // namespace headroom::statistics::student_t_test
