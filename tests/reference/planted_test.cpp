// Wrong layers against the limits of both kinds of data, over all options: each must be found, and
// the right layer must pass.
#include "support/planted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/layer_cases.hpp"

namespace headroom::test {
namespace {

using reference::Comparison;
using reference::Data;

enum class Values { gaussian, large_logits, thirty_fold, dropped };

struct Case {
  Values values;
  bool causal;
  bool with_projection;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  static constexpr const char* kNames[] = {"Gaussian", "LargeLogits", "ThirtyFold", "Dropped"};
  return std::string(kNames[static_cast<int>(info.param.values)]) +
         (info.param.causal ? "Causal" : "Unmasked") +
         (info.param.with_projection ? "Projected" : "Plain");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto values :
       {Values::gaussian, Values::large_logits, Values::thirty_fold, Values::dropped}) {
    for (const bool causal : {true, false}) {
      for (const bool projection : {true, false}) all.push_back({values, causal, projection});
    }
  }
  return all;
}

// What verify calls adversarial has logits that are scaled 36-fold.
Layer layer_of(const Case& c) {
  Shape shape = plain_shape(96, 128, 4, 32);
  shape.causal = c.causal;
  shape.qkv_bias = true;
  shape.d_proj = c.with_projection ? 64 : 0;
  if (c.values == Values::dropped) shape.dropout = 0.5;
  Layer layer = gaussian_layer(shape);
  if (c.values == Values::large_logits) {
    for (float& w : layer.weights.query.values) w *= 6;
    for (float& w : layer.weights.key.values) w *= 6;
  }
  if (c.values == Values::thirty_fold) {
    for (float& v : layer.x.values) v *= 30;
  }
  return layer;
}

class Planted : public testing::TestWithParam<Case> {
 protected:
  static Comparison compare(const Layer& layer, const reference::Expected& expected, Fault fault,
                            Data data) {
    const Matrix y = planted(layer.shape, layer.weights, layer.x, fault);
    return reference::compare(expected, y.view(), data);
  }
};

TEST_P(Planted, IsFoundByBothKindsOfLimits) {
  const Layer layer = layer_of(GetParam());
  const reference::Expected expected = oracle(layer);
  for (const Data data : {Data::standard, Data::adversarial}) {
    const Comparison right = compare(layer, expected, Fault::none, data);
    EXPECT_TRUE(right.passed) << right.reason;
    for (const Fault fault : faults_of(layer.shape)) {
      // A softmax that has settled on one token hardly changes with the scale.
      const bool settled = GetParam().values == Values::thirty_fold;
      if (settled && fault == Fault::scale_five_percent_up) continue;
      const Comparison wrong = compare(layer, expected, fault, data);
      EXPECT_FALSE(wrong.passed) << to_string(fault) << ": " << wrong.bound_ratio
                                 << " of the bound";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Planted, testing::ValuesIn(cases()), name_of);

TEST(PlantedElement, IsFoundAmongAMillion) {
  Shape shape = plain_shape(1000, 64, 1, 32);
  shape.d_proj = 1000;
  const Layer layer = gaussian_layer(shape);
  const reference::Expected expected = oracle(layer);
  Matrix y(shape.rows(), shape.d_proj);
  std::copy(expected.y.begin(), expected.y.end(), y.values.begin());
  for (const Data data : {Data::standard, Data::adversarial}) {
    EXPECT_TRUE(reference::compare(expected, y.view(), data).passed);
  }
  float& bad = y.values[123'456];
  bad += 0.02F * std::abs(*std::max_element(y.values.begin(), y.values.end()));
  for (const Data data : {Data::standard, Data::adversarial}) {
    const Comparison result = reference::compare(expected, y.view(), data);
    EXPECT_FALSE(result.passed) << result.bound_ratio;
    EXPECT_EQ(result.worst_row, 123);
    EXPECT_EQ(result.worst_col, 456);
  }
}

}  // namespace
}  // namespace headroom::test
