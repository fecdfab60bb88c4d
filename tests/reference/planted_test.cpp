// Wrong layers against the limits of both kinds of data, over all options: each must be found, and
// the right layer must pass.
#include "support/planted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "support/layer_cases.hpp"
#include "support/sanitized.hpp"

namespace headroom::test::planted_test {
namespace {

using reference::Comparison;
using reference::Data;

enum class Values { gaussian, large_logits, thirty_fold, dropped };
// Which values they are does not matter to a sanitizer, but only layers with dropout have all
// faults.
const std::vector<Values> kAllValues =
    kSanitized
        ? std::vector{Values::gaussian, Values::dropped}
        : std::vector{Values::gaussian, Values::large_logits, Values::thirty_fold, Values::dropped};

std::string to_string(Values values) {
  static constexpr const char* kNames[] = {"Gaussian", "LargeLogits", "ThirtyFold", "Dropped"};
  return kNames[static_cast<int>(values)];
}

struct PlantedCase {
  Values values;
  std::string name;
  Case shape;
};

// For GoogleTest, which would print the bytes of the object otherwise.
void PrintTo(const PlantedCase& c, std::ostream* out) { *out << to_string(c.values) << c.name; }

std::vector<PlantedCase> plain_cases() {
  std::vector<PlantedCase> all;
  for (const Values values : kAllValues) {
    for (const bool causal : {true, false}) {
      for (const bool projection : {true, false}) {
        Case shape = plain_shape(96, 128, 4, 32);
        shape.causal = causal;
        shape.d_proj = projection ? 64 : 0;
        const std::string name = causal ? "Causal" : "Unmasked";
        all.push_back({values, name + (projection ? "Projected" : "Plain"), shape});
      }
    }
  }
  return all;
}

// Each option of a call, in company.
std::vector<PlantedCase> call_cases() {
  std::vector<PlantedCase> all;
  for (const Values values : kAllValues) {
    const auto add = [&](const std::string& name, const auto& change) {
      Case shape = plain_shape(48, 64, 6, 16);
      shape.d_proj = 64;
      shape.batch = 2;
      change(shape);
      all.push_back({values, name, shape});
    };
    add("Ragged", [](Case& s) {
      s.batch = 4, s.lengths = {17, 0, 48, 1}, s.kv_heads = 3, s.past = 30, s.window = 20;
      s.rotary.pairs = Rotary::Pairs::halves;
    });
    add("Window", [](Case& s) { s.window = 24, s.rotary.pairs = Rotary::Pairs::neighbours; });
    add("Past", [](Case& s) { s.past = 30, s.kv_heads = 2; });
    add("PastUnmasked", [](Case& s) { s.past = 30, s.kv_heads = 3, s.causal = false; });
    add("Cross",
        [](Case& s) { s.causal = false, s.kv_heads = 2, s.d_memory = 40, s.memory_tokens = 33; });
  }
  return all;
}

// What verify calls adversarial has logits that are scaled 36-fold.
Layer layer_of(const PlantedCase& c) {
  Case shape = c.shape;
  shape.qkv_bias = true;
  if (c.values == Values::dropped) shape.dropout = 0.5;
  Layer layer = gaussian_layer(shape);
  if (c.values == Values::large_logits) {
    for (float& w : layer.weights.query.values) w *= 6;
    for (float& w : layer.weights.key.values) w *= 6;
  }
  if (c.values == Values::thirty_fold) {
    for (Matrix* input : {&layer.x, &layer.past, &layer.memory}) {
      for (float& v : input->values) v *= 30;
    }
  }
  return layer;
}

class Planted : public testing::TestWithParam<PlantedCase> {
 protected:
  static Comparison compare(const Layer& layer, const reference::Expected& expected, Fault fault,
                            Data data) {
    const Matrix y = planted(layer, fault);
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

std::string name_of(const testing::TestParamInfo<PlantedCase>& info) {
  return to_string(info.param.values) + info.param.name;
}

// What docs/numerics.md wants of every honest result: a factor of 2 to spare.
TEST_P(Planted, FloatIsWithinTheElementBound) {
  const Layer layer = layer_of(GetParam());
  const Comparison result =
      reference::compare(oracle(layer), in_float(layer).view(), Data::adversarial);
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_LE(result.bound_ratio, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Layers, Planted, testing::ValuesIn(plain_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Calls, Planted, testing::ValuesIn(call_cases()), name_of);

// All of them are planted somewhere.
TEST(PlantedFaults, NoneIsForgotten) {
  std::set<Fault> planted;
  for (const auto& cases : {plain_cases(), call_cases()}) {
    for (const PlantedCase& c : cases) {
      for (const Fault fault : faults_of(layer_of(c).shape)) planted.insert(fault);
    }
  }
  EXPECT_EQ(planted.size(), 20U);
}

TEST(PlantedElement, IsFoundAmongAMillion) {
  Case shape = plain_shape(1000, 64, 1, 32);
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
}  // namespace headroom::test::planted_test
