// Steps of made-up series: how often one is found where there is none, and where there is one.
#include "trend/find_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace headroom::trend::find_steps_test {
namespace {

// Times of made-up versions. Not std::normal_distribution, whose values differ between libraries.
class MadeUp {
 public:
  explicit MadeUp(std::uint64_t seed) : generator_(seed) {}

  double normal() {
    const double angle = 2 * std::numbers::pi * uniform();
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(angle);
  }

  /// A version whose time is `factor`, measured by launches that scatter by `spread`.
  Level version(double factor, double spread, int launches = 8) {
    std::vector<double> logs;
    for (int i = 0; i < launches; ++i) logs.push_back(std::log(factor) + spread * normal());
    return level_of(logs);
  }

  /// As many versions, those from `step` on slower by a factor.
  Judged series(std::size_t versions, double spread, std::size_t step = 1000, double factor = 1,
                int launches = 8) {
    Judged judged{{}, 0.03};
    for (std::size_t i = 0; i < versions; ++i) {
      judged.levels.push_back(version(i < step ? 1 : factor, spread, launches));
    }
    return judged;
  }

 private:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

  std::mt19937_64 generator_;
};

Judged of_factors(const std::vector<double>& factors, std::uint64_t seed = 1) {
  MadeUp made_up(seed);
  Judged judged{{}, 0.03};
  for (const double factor : factors) judged.levels.push_back(made_up.version(factor, 0.01));
  return judged;
}

std::size_t with_a_step(const std::vector<FoundSteps>& found) {
  std::size_t count = 0;
  for (const FoundSteps& each : found) count += each.steps.empty() ? 0 : 1;
  return count;
}

TEST(FindSteps, EqualVersionsHaveNone) {
  for (const double spread : {0.01, 0.02, 0.03}) {
    for (const int launches : {1, 8}) {
      MadeUp made_up(7);
      std::vector<Judged> cells;
      for (int i = 0; i < 500; ++i) cells.push_back(made_up.series(20, spread, 1000, 1, launches));
      EXPECT_LE(with_a_step(find_steps(cells)), 10U) << spread << ' ' << launches;
    }
  }
}

// The rate that is stated must not hang on the margin, nor on many cells.
TEST(FindSteps, AreFalseAsSeldomAsIsSaid) {
  for (const std::size_t versions : {4U, 6U, 20U, 60U}) {
    MadeUp made_up(versions);
    std::size_t false_steps = 0, false_maybes = 0;
    constexpr int kSeries = 2000;
    for (int i = 0; i < kSeries; ++i) {
      Judged judged = made_up.series(versions, 0.02, 1000, 1, 1);
      judged.margin = 0;
      const FoundSteps found = find_steps({judged}).front();
      false_steps += found.steps.empty() ? 0 : 1;
      false_maybes += found.maybe ? 1 : 0;
    }
    EXPECT_LE(false_steps, 1.5 * kSeries * 0.01) << versions;
    EXPECT_LE(false_maybes, 1.3 * kSeries * kFalseMaybes) << versions;
  }
}

TEST(FindSteps, OfFivePercentAreFoundWhereTheyAre) {
  for (const int launches : {1, 8}) {
    MadeUp made_up(3);
    int right = 0;
    for (int i = 0; i < 20; ++i) {
      const std::size_t step = 3 + static_cast<std::size_t>(i) % 15;
      const FoundSteps found = find_steps({made_up.series(20, 0.01, step, 1.05, launches)}).front();
      const bool one = found.steps.size() == 1 && found.steps.front().at == step;
      right += one ? 1 : 0;
      if (!one) continue;
      EXPECT_NEAR(found.steps.front().ratio, 1.05, 0.02);
      EXPECT_GT(found.steps.front().ci95.low, 1);
    }
    EXPECT_GE(right, launches == 8 ? 20 : 15) << launches;
  }
}

TEST(FindSteps, OneOfAThousandCellsIsFound) {
  for (const std::size_t versions : {12U, 20U}) {
    MadeUp made_up(5);
    std::vector<Judged> cells;
    for (int i = 0; i < 1000; ++i) {
      cells.push_back(made_up.series(versions, 0.01, i == 700 ? versions / 2 : 1000, 1.05));
    }
    const std::vector<FoundSteps> found = find_steps(cells);
    EXPECT_EQ(with_a_step(found), 1U);
    ASSERT_EQ(found[700].steps.size(), 1U) << versions;
    EXPECT_EQ(found[700].steps.front().at, versions / 2);
  }
}

TEST(FindSteps, ASlowdownThatWasMendedIsTwo) {
  std::vector<double> factors(20, 1);
  for (std::size_t i = 10; i < 15; ++i) factors[i] = 1.06;
  const FoundSteps found = find_steps({of_factors(factors)}).front();
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].at, 10U);
  EXPECT_GT(found.steps[0].ratio, 1);
  EXPECT_EQ(found.steps[1].at, 15U);
  EXPECT_LT(found.steps[1].ratio, 1);
}

TEST(FindSteps, SeveralAreAllFound) {
  std::vector<double> factors;
  for (const double level : {1.0, 1.1, 0.9, 1.2}) factors.insert(factors.end(), 6, level);
  const FoundSteps found = find_steps({of_factors(factors)}).front();
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[0].at, 6U);
  EXPECT_EQ(found.steps[1].at, 12U);
  EXPECT_EQ(found.steps[2].at, 18U);
  EXPECT_NEAR(found.steps[1].ratio, 0.9 / 1.1, 0.01);
}

TEST(FindSteps, BelowTheMarginDoNotMatter) {
  MadeUp made_up(9);
  Judged judged = made_up.series(20, 0.005, 10, 1.02);
  EXPECT_TRUE(find_steps({judged}).front().steps.empty());
  judged.margin = 0.01;
  EXPECT_EQ(find_steps({judged}).front().steps.size(), 1U);
}

TEST(FindSteps, OneBadRunIsNone) {
  for (const std::size_t versions : {12U, 20U, 60U}) {
    std::vector<double> factors(versions, 1);
    factors[versions / 2] = 1.2;
    EXPECT_TRUE(find_steps({of_factors(factors)}).front().steps.empty()) << versions;
    factors[versions / 2] = 1;
    factors[0] = 1.2;
    EXPECT_TRUE(find_steps({of_factors(factors)}).front().steps.empty()) << versions;
  }
}

TEST(FindSteps, TheNewestVersionAloneIsAMaybe) {
  std::vector<double> factors(12, 1);
  factors.back() = 1.08;
  const FoundSteps found = find_steps({of_factors(factors)}).front();
  EXPECT_TRUE(found.steps.empty());
  ASSERT_TRUE(found.maybe.has_value());
  EXPECT_EQ(found.maybe->at, 11U);
  EXPECT_NEAR(found.maybe->ratio, 1.08, 0.02);

  factors.push_back(1.08);
  const FoundSteps later = find_steps({of_factors(factors)}).front();
  ASSERT_EQ(later.steps.size(), 1U);
  EXPECT_EQ(later.steps.front().at, 11U);
  EXPECT_FALSE(later.maybe.has_value());
}

TEST(FindSteps, NeedTwoVersionsOnEachSide) {
  EXPECT_EQ(find_steps({of_factors({1, 1, 2, 2})}).front().steps.size(), 1U);
  EXPECT_TRUE(find_steps({of_factors({1, 1, 2})}).front().steps.empty());
  EXPECT_TRUE(find_steps({of_factors({1, 2})}).front().steps.empty());
  EXPECT_FALSE(find_steps({of_factors({1, 2})}).front().maybe.has_value());
  EXPECT_TRUE(find_steps({of_factors({1})}).front().steps.empty());
  EXPECT_TRUE(find_steps({}).empty());
}

// Launches that scatter by 20 % cannot be the ground of a step of 5 %, however near the levels of
// few versions happen to lie.
TEST(FindSteps, LaunchesBoundTheSpread) {
  Judged judged{{}, 0.03};
  for (const double value : {0.0, 0.0001, 0.05, 0.0501}) judged.levels.push_back({value, 0.0});
  EXPECT_EQ(find_steps({judged}).front().steps.size(), 1U);
  for (Level& level : judged.levels) level.within = 0.2 * 0.2 / 8;
  EXPECT_TRUE(find_steps({judged}).front().steps.empty());
  // An interval that does not reach 1, and p = 0.03.
  for (Level& level : judged.levels) level.within = 0.0083 * 0.0083;
  EXPECT_TRUE(find_steps({judged}).front().steps.empty());
}

TEST(FindSteps, WithoutAnySpreadLevelsDifferOrNot) {
  const auto exact = [](const std::vector<double>& values) {
    Judged judged{{}, 0.03};
    for (const double value : values) judged.levels.push_back({value, 0});
    return find_steps({judged}).front();
  };
  EXPECT_TRUE(exact({0, 0, 0, 0, 0}).steps.empty());
  EXPECT_FALSE(exact({0, 0, 0, 0, 0}).maybe.has_value());
  EXPECT_EQ(exact({0, 0, 0.125, 0.125}).steps.size(), 1U);
}

}  // namespace
}  // namespace headroom::trend::find_steps_test
