// The same bits on every repeat, for every thread count, and beside other layers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"
#include "support/sanitized.hpp"

namespace headroom::test::layer_determinism_test {
namespace {

/// A sanitizer watches every access: it takes less of the same.
Case medium_shape() {
  Case shape = kSanitized ? plain_shape(34, 24, 3, 8) : plain_shape(130, 96, 6, 24);
  shape.batch = 2;
  shape.qkv_bias = true;
  shape.d_proj = 80;
  return shape;
}

/// How often the same input is run on each number of threads; HEADROOM_TEST_REPEATS asks for more
/// than the suite does.
int repeats() {
  const char* text = std::getenv("HEADROOM_TEST_REPEATS");
  if (text != nullptr) return std::stoi(text);
  return kSanitized ? 2 : 5;
}

/// Sanitizers look at who touches what, which is the same on any number of threads but one.
std::vector<int> thread_counts() {
  return kSanitized ? std::vector<int>{2} : std::vector<int>{1, 2, 3, 4, 8};
}

class LayerDeterminism : public LayerTest {};

TEST_P(LayerDeterminism, RepeatsGiveTheSameBits) {
  ASSERT_GT(repeats(), 1) << "HEADROOM_TEST_REPEATS";
  const Layer layer = gaussian_layer(medium_shape());
  for (const int threads : thread_counts()) {
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options(threads));
    Matrix first(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), first.view());
    for (int repeat = 1; repeat < repeats(); ++repeat) {
      Matrix y(first.rows, first.cols);
      attention.forward(layer.x.view(), y.view());
      ASSERT_TRUE(same_bits(y, first)) << "repeat " << repeat << " on " << threads << " threads";
    }
  }
}

TEST_P(LayerDeterminism, ANewObjectGivesTheSameBits) {
  const Layer layer = gaussian_layer(medium_shape());
  EXPECT_TRUE(same_bits(run(GetParam(), layer), run(GetParam(), layer)));
}

// Nothing of an earlier input may stay behind in the workspace.
TEST_P(LayerDeterminism, AnotherInputInBetweenLeavesNoTrace) {
  const Layer layer = gaussian_layer(medium_shape());
  const Matrix other = gaussian_input(layer.shape.rows(), layer.shape, 1234);
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix first(layer.shape.rows(), layer.shape.output_width());
  Matrix again = first;
  attention.forward(layer.x.view(), first.view());
  attention.forward(other.view(), again.view());
  ASSERT_FALSE(same_bits(again, first));
  attention.forward(layer.x.view(), again.view());
  EXPECT_TRUE(same_bits(again, first));
}

TEST_P(LayerDeterminism, EveryThreadCountGivesTheSameBits) {
  const Layer layer = gaussian_layer(medium_shape());
  const Matrix one = run(GetParam(), layer, 1);
  for (const int threads : thread_counts()) {
    const Matrix y = run(GetParam(), layer, threads);
    EXPECT_TRUE(equal_for(GetParam(), y.view(), one.view())) << threads << " threads";
  }
}

TEST_P(LayerDeterminism, TwoObjectsMayRunAtTheSameTime) {
  const Layer a = gaussian_layer(medium_shape(), 7);
  const Layer b =
      gaussian_layer(kSanitized ? plain_shape(19, 50, 2, 9) : plain_shape(61, 50, 2, 33), 8);
  const Matrix expected_a = run(GetParam(), a);
  const Matrix expected_b = run(GetParam(), b);
  int equal_a = 0;
  int equal_b = 0;
  constexpr int kTimes = kSanitized ? 4 : 20;
  const auto repeat = [](const LayerCase& layer_case, const Layer& layer, const Matrix& expected,
                         int& equal) {
    Attention attention = layer_for(layer.shape, layer.weights, layer_case.options());
    Matrix y(expected.rows, expected.cols);
    for (int i = 0; i < kTimes; ++i) {
      attention.forward(layer.x.view(), y.view());
      equal += same_bits(y, expected) ? 1 : 0;
    }
  };
  std::thread other([&] { repeat(GetParam(), b, expected_b, equal_b); });
  repeat(GetParam(), a, expected_a, equal_a);
  other.join();
  EXPECT_EQ(equal_a, kTimes);
  EXPECT_EQ(equal_b, kTimes);
}

TEST_P(LayerDeterminism, AMovedLayerGivesTheSameBits) {
  const Layer layer = gaussian_layer(medium_shape());
  const Matrix expected = run(GetParam(), layer);
  Attention first = layer_for(layer.shape, layer.weights, GetParam().options());
  Attention moved(std::move(first));
  Matrix y(expected.rows, expected.cols);
  moved.forward(layer.x.view(), y.view());
  EXPECT_TRUE(same_bits(y, expected));
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerDeterminism, testing::ValuesIn(layer_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, LayerDeterminism, testing::ValuesIn(precision_cases()),
                         case_name);

}  // namespace
}  // namespace headroom::test::layer_determinism_test
