// Planted errors: each must be found and named.
#include "reference/comparator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"

namespace headroom::reference::comparator_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kBound = 1e-6;  // for every element unless set otherwise

// A result that equals the oracle's, to plant errors in.
struct Pair {
  Expected expected;
  Matrix y;
};

Pair exact(std::vector<float> values, std::int64_t width) {
  Pair pair;
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  pair.y = Matrix(rows, width);
  pair.expected.width = width;
  for (std::int64_t r = 0; r < rows; ++r) pair.expected.rows.push_back(r);
  pair.expected.y.assign(values.begin(), values.end());
  pair.expected.bound.assign(values.size(), kBound);
  pair.y.values = std::move(values);
  return pair;
}

Pair gaussian(std::int64_t rows, std::int64_t width) {
  Case shape;
  shape.tokens = rows;
  shape.d_in = width;
  shape.d_out = 1;
  return exact(gaussian_input(shape.rows(), shape, 4).values, width);
}

void expect_failure(const Pair& pair, Data data, const std::string& says) {
  const Comparison result = compare(pair.expected, pair.y.view(), data);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.reason.find(says), std::string::npos) << result.reason;
}

void expect_both_fail(const Pair& pair) {
  for (const Data data : {Data::standard, Data::adversarial}) {
    const Comparison result = compare(pair.expected, pair.y.view(), data);
    EXPECT_FALSE(result.passed);
    EXPECT_FALSE(result.reason.empty());
  }
}

TEST(Comparator, PassesTheSameValues) {
  const Pair pair = gaussian(20, 30);
  for (const Data data : {Data::standard, Data::adversarial}) {
    const Comparison result = compare(pair.expected, pair.y.view(), data);
    EXPECT_TRUE(result.passed) << result.reason;
    EXPECT_EQ(result.nrmse, 0);
    EXPECT_EQ(result.max_over_rms, 0);
    EXPECT_EQ(result.bound_ratio, 0);
  }
}

TEST(Comparator, GivesTheMetricsOfTheContract) {
  Pair pair = exact({3, -4, 0, 5}, 2);  // |r| = sqrt(50), rms = sqrt(12.5)
  pair.y.values = {3, -4, 0.5F, 5};
  pair.expected.bound[2] = 0.125;
  const Comparison result = compare(pair.expected, pair.y.view(), Data::standard);
  EXPECT_DOUBLE_EQ(result.nrmse, 0.5 / std::sqrt(50.0));
  EXPECT_DOUBLE_EQ(result.max_over_rms, 0.5 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(result.bound_ratio, 4);
  EXPECT_EQ(result.worst_row, 1);
  EXPECT_EQ(result.worst_col, 0);
}

TEST(Comparator, FindsTwoNegativeValuesThatDifferByTwo) {
  Pair pair = exact({-1, -2, -3, -4}, 2);
  pair.y.values[3] = -8;
  expect_both_fail(pair);
  expect_failure(pair, Data::standard, "row 1, column 1: found -8, expected -4");
  pair.y.values[3] = -2;
  expect_both_fail(pair);
}

TEST(Comparator, FindsAFlippedSign) {
  Pair pair = gaussian(20, 30);
  pair.y.values[100] *= -1;
  expect_both_fail(pair);
}

TEST(Comparator, FindsNanAndInf) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    Pair pair = gaussian(20, 30);
    pair.y.values[5 * 30 + 7] = bad;
    expect_both_fail(pair);
    expect_failure(pair, Data::standard, "row 5, column 7");
    pair.y.values.assign(pair.y.values.size(), bad);
    expect_both_fail(pair);
  }
}

TEST(Comparator, WantsTheOraclesNan) {
  Pair pair = gaussian(20, 30);
  pair.expected.y[35] = static_cast<double>(kNan);
  expect_both_fail(pair);
  pair.y.values[35] = kNan;
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::standard).passed);
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::adversarial).passed);
  pair.expected.y[35] = static_cast<double>(kInfinity);
  expect_both_fail(pair);
}

TEST(Comparator, FindsOneBadElementInAMillion) {
  Pair pair = gaussian(1000, 1000);
  pair.y.values[123'456] += 1e-3F;  // one thousandth: nrmse 1e-6 would pass
  const Comparison result = compare(pair.expected, pair.y.view(), Data::standard);
  EXPECT_LT(result.nrmse, kNrmseLimit);
  EXPECT_EQ(result.worst_row, 123);
  EXPECT_EQ(result.worst_col, 456);
  expect_failure(pair, Data::standard, "max_over_rms 0.001 is above the limit 5e-05");
  expect_failure(pair, Data::adversarial, "row 123, column 456");
}

TEST(Comparator, FindsASmallErrorEverywhere) {
  Pair pair = gaussian(100, 100);
  for (float& value : pair.y.values) value *= 1 + 8e-6F;
  const Comparison result = compare(pair.expected, pair.y.view(), Data::standard);
  EXPECT_LT(result.max_over_rms, kMaxOverRmsLimit);
  expect_failure(pair, Data::standard, "nrmse 7.99e-06 is above the limit 5e-06");
}

TEST(Comparator, FindsAllZeros) {
  Pair pair = gaussian(20, 30);
  std::fill(pair.y.values.begin(), pair.y.values.end(), 0.0F);
  expect_both_fail(pair);
}

TEST(Comparator, FindsSwappedHeads) {
  Pair pair = gaussian(20, 30);
  for (std::int64_t r = 0; r < 20; ++r) {
    float* row = pair.y.view().row(r);
    std::swap_ranges(row, row + 10, row + 10);
  }
  expect_both_fail(pair);
}

TEST(Comparator, FindsAShiftedRow) {
  Pair pair = gaussian(20, 30);
  std::copy_n(pair.y.view().row(6), 30, pair.y.view().row(7));
  expect_both_fail(pair);
  expect_failure(pair, Data::standard, "row 7");
}

TEST(Comparator, ExpectsZeroWhereAllIsZero) {
  Pair pair = exact({0, 0, 0, 0}, 2);
  pair.expected.bound.assign(4, 0.0);
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::standard).passed);
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::adversarial).passed);
  pair.y.values[1] = 1e-30F;
  expect_both_fail(pair);
}

TEST(Comparator, HoldsEachElementToItsOwnBound) {
  Pair pair = exact({1e-3F, 1, 1e-3F, 1}, 2);
  pair.expected.bound = {1e-9, 1e-6, 1e-6, 1e-6};
  pair.y.values[2] += 1e-7F;  // cancelled from values near 1: allowed
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::adversarial).passed);
  pair.y.values[0] += 1e-7F;  // never was near 1: not allowed
  const Comparison result = compare(pair.expected, pair.y.view(), Data::adversarial);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.worst_row, 0);
  EXPECT_EQ(result.worst_col, 0);
  pair.expected.bound[0] = 1e-6;
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::adversarial).passed);
}

TEST(Comparator, PassesNothingByABoundThatIsNoNumber) {
  Pair pair = exact({1, 2, 3, 4}, 2);
  pair.y.values[1] = 2.5F;
  for (const float bad : {kNan, kInfinity}) {
    pair.expected.bound[1] = static_cast<double>(bad);
    expect_failure(pair, Data::adversarial, "row 0, column 1");
  }
}

TEST(Comparator, ComparesOnlyTheRowsThatTheOracleHas) {
  Pair pair = gaussian(4, 3);
  pair.expected.rows = {1, 3};
  pair.expected.y.assign(pair.y.values.begin() + 3, pair.y.values.begin() + 6);
  pair.expected.y.insert(pair.expected.y.end(), pair.y.values.begin() + 9, pair.y.values.end());
  pair.expected.bound.resize(6);
  pair.y.values[0] = kNan;
  EXPECT_TRUE(compare(pair.expected, pair.y.view(), Data::standard).passed);
  pair.y.values[9] = 7;
  expect_failure(pair, Data::standard, "row 3, column 0: found 7");
}

TEST(Comparator, RefusesAResultOfAnotherSize) {
  const Pair pair = gaussian(4, 3);
  EXPECT_THROW(compare(pair.expected, {pair.y.values.data(), 3, 3, 3}, Data::standard),
               InvalidArgument);
  EXPECT_THROW(compare(pair.expected, {pair.y.values.data(), 4, 2, 3}, Data::standard),
               InvalidArgument);
}

TEST(Comparator, PassesAnEmptyResult) {
  EXPECT_TRUE(compare(Expected{}, {nullptr, 0, 0, 0}, Data::standard).passed);
}

}  // namespace
}  // namespace headroom::reference::comparator_test
