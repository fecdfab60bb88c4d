#include "statistics/samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headroom::statistics::samples_test {
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

}  // namespace
}  // namespace headroom::statistics::samples_test
