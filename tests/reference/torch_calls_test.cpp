// The oracle against PyTorch's results for calls of every kind, and those against the limits.
#include "support/torch_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/planted.hpp"

namespace headroom::reference::torch_calls_test {
namespace {

using test::oracle;

class TorchCalls : public testing::TestWithParam<test::TorchCall> {
 protected:
  static double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    return largest;
  }
};

// Values near 1, so that 1e-12 leaves both their roundings room and nothing else.
TEST_P(TorchCalls, OracleAgreesInDouble) {
  const test::TorchCall& call = GetParam();
  const Expected expected = oracle(call.layer);
  ASSERT_FALSE(expected.y.empty());
  EXPECT_LE(largest_difference(expected.y, call.exact), 1e-12);
}

// With a factor of 2 to spare, as element_bound.hpp wants it.
TEST_P(TorchCalls, FloatIsWithinAllLimits) {
  const test::TorchCall& call = GetParam();
  const Expected expected = oracle(call.layer);
  for (const Data data : {Data::standard, Data::adversarial}) {
    const Comparison result = compare(expected, call.y.view(), data);
    EXPECT_TRUE(result.passed) << result.reason;
    EXPECT_LE(result.bound_ratio, 0.5);
  }
}

// The examples can tell right from wrong.
TEST_P(TorchCalls, EveryPlantedFaultShows) {
  const test::TorchCall& call = GetParam();
  const Expected expected = oracle(call.layer);
  for (const test::Fault fault : test::faults_of(call.layer.shape)) {
    const Comparison result =
        compare(expected, test::planted(call.layer, fault).view(), Data::standard);
    EXPECT_FALSE(result.passed) << to_string(fault);
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, TorchCalls, testing::ValuesIn(test::torch_calls()),
                         [](const auto& call) { return call.param.name; });

TEST(TorchCallsFile, HasEveryOption) {
  std::set<test::Fault> faults;
  bool cross = false;
  bool several_with_gaps = false;
  for (const test::TorchCall& call : test::torch_calls()) {
    const Case& shape = call.layer.shape;
    for (const test::Fault fault : test::faults_of(shape)) faults.insert(fault);
    cross = cross || shape.d_memory > 0;
    several_with_gaps = several_with_gaps ||
                        std::count(shape.lengths.begin(), shape.lengths.end(), std::int64_t{0}) > 0;
  }
  EXPECT_EQ(faults.size(), 19U) << "all but dropout, whose pattern is our own";
  EXPECT_TRUE(cross && several_with_gaps);
}

}  // namespace
}  // namespace headroom::reference::torch_calls_test
