// The oracle against PyTorch's results for textbook examples.
#include "support/golden.hpp"

#include <gtest/gtest.h>

#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference::golden_test {
namespace {

class Golden : public testing::TestWithParam<test::GoldenLayer> {};

TEST_P(Golden, OracleAgreesWithPyTorch) {
  const test::GoldenLayer& layer = GetParam();
  const Expected expected =
      attention(layer.shape, layer.weights, layer.x.view(), all_rows(layer.shape), 1);
  // Well below the limits of the contract: these floats are but a few roundings from exact.
  const Comparison result = compare(expected, layer.y.view(), Data::standard);
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_LE(result.nrmse, 2e-7);
  EXPECT_LE(result.max_over_rms, 5e-7);
}

INSTANTIATE_TEST_SUITE_P(Textbook, Golden, testing::ValuesIn(test::golden_layers()),
                         [](const auto& example) { return example.param.name; });

TEST(GoldenLayers, NoExampleIsForgotten) { EXPECT_EQ(test::golden_layers().size(), 12U + 3U); }

}  // namespace
}  // namespace headroom::reference::golden_test
