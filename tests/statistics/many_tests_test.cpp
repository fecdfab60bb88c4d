// The correction for many tests. Where no values are published, values of scipy 1.17.1 are used,
// with the call that gives them.
#include "statistics/many_tests.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom::statistics::many_tests_test {
namespace {

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
}  // namespace headroom::statistics::many_tests_test
