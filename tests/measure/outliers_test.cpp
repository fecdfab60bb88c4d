// Data with outlier channels: the exact result stays, what is rounded notices, and every backend
// keeps its limits against the oracle that is fed what is stored.
#include "plan/shapes/outliers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/check.hpp"
#include "measure/group/outlier_data.hpp"
#include "support/layer_cases.hpp"

namespace headroom::measure::outliers_test {
namespace {

using reference::Data;

// As gpt-oss has it: keys heads that are shared, sinks, biases, windows and pairs of halves.
Case with_sinks() {
  Case shape = test::plain_shape(150, 64, 4, 32);
  shape.kv_heads = 2;
  shape.d_proj = 64;
  shape.qkv_bias = true;
  shape.sinks = true;
  shape.window = 100;
  shape.rotary = {Rotary::Pairs::halves, 100};
  return shape;
}

Case plain() {
  Case shape = test::plain_shape(80, 128, 2, 64);
  shape.d_proj = 128;
  return shape;
}

std::vector<Case> layers() {
  Case gated = plain();
  gated.gate = true;
  gated.norm.over = QueryKeyNorm::Over::head;
  gated.rotary.pairs = Rotary::Pairs::neighbours;
  gated.rotary.width = 16;
  Case wide_norm = plain();
  wide_norm.kv_heads = 1;
  wide_norm.norm.over = QueryKeyNorm::Over::width;
  Case after = with_sinks();
  after.tokens = 3;
  after.past = 20;
  Case crossed = plain();
  crossed.causal = false;
  crossed.d_memory = 70;
  crossed.memory_tokens = 9;
  Case given;
  given.tokens = 5;
  given.past = 30;
  given.heads = 4;
  given.kv_heads = 2;
  given.d_out = 4 * 24;
  return {plain(), with_sinks(), gated, wide_norm, after, crossed, given};
}

Problem problem_of(Case shape, std::int64_t factor, const Numbers& stored = {},
                   Data data = Data::standard) {
  shape.outliers = factor;
  plan::Cell cell;
  cell.backend = "naive";
  cell.numbers = stored;
  return make_problem({shape, {cell}}, 1, data, 1e9);
}

double largest_in(const Matrix& matrix, std::int64_t column) {
  float most = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    most = std::max(most, std::abs(matrix.view().row(row)[column]));
  }
  return most;
}

TEST(Outliers, LeaveTheExactResult) {
  for (const Case& shape : layers()) {
    for (const std::int64_t factor : {300, 10'000}) {
      SCOPED_TRACE(shape.id() + " " + std::to_string(factor));
      const Problem with = problem_of(shape, factor);
      const Problem without = problem_of(shape, 0);
      EXPECT_EQ(with.data, Data::adversarial) << "norms over all are for Gaussian data";
      // The floats that are scaled are rounded once more.
      EXPECT_LT(reference::distance(with.expected, without.expected), 1e-6);
      EXPECT_GT(reference::distance(with.expected, without.expected), 0);
    }
  }
}

TEST(Outliers, AreInTheInputsAndInTheKeys) {
  const Case shape = plain();
  const Problem with = problem_of(shape, 300);
  const Problem without = problem_of(shape, 0);
  for (std::int64_t c = 0; c < 128; ++c) {
    const bool outlier = c == 21 || c == 85;
    EXPECT_NEAR(largest_in(with.x, c) / largest_in(without.x, c), outlier ? 300 : 1, 1e-3) << c;
  }
  const auto entry = [](const Problem& problem, std::int64_t row, std::int64_t column) {
    return problem.weights.key.view().row(row)[column];
  };
  EXPECT_NEAR(entry(with, 0, 21) / entry(without, 0, 21), 300, 1e-3) << "a key's channel";
  EXPECT_NEAR(entry(with, 0, 64 + 21) / entry(without, 0, 64 + 21), 300, 1e-3) << "of each head";
  EXPECT_NEAR(entry(with, 21, 0) / entry(without, 21, 0), 1 / 300.0, 1e-6);
  EXPECT_EQ(entry(with, 0, 0), entry(without, 0, 0));
  const Case given = layers().back();
  const Problem heads = problem_of(given, 300);
  const Problem plain_heads = problem_of(given, 0);
  EXPECT_NEAR(largest_in(heads.key, 24 + 8) / largest_in(plain_heads.key, 24 + 8), 300, 1e-3);
  EXPECT_NEAR(largest_in(heads.x, 72 + 8) / largest_in(plain_heads.x, 72 + 8), 1 / 300.0, 1e-6);
  EXPECT_EQ(heads.value.values, plain_heads.value.values);
}

constexpr Numbers kF32{};
constexpr Numbers kQ8{Precision::f32, Dtype::f32, Storage::q8};
constexpr Numbers kQ4{Precision::f32, Dtype::f32, Storage::q4};
constexpr Numbers kCache{Precision::f32, Dtype::f32, std::nullopt, Storage::q8};
constexpr Numbers kBytes{Precision::int8, Dtype::f32, Storage::q8};

// A group of weights along the depth has one scale, so those beside an outlier of x are lost. Keys
// of a cache are scaled by channel, and lose nothing.
TEST(Outliers, AreWhatWeightsInFewBitsNoticeAndACacheDoesNot) {
  const auto cost = [](const Numbers& stored, std::int64_t factor) {
    return problem_of(plain(), factor, stored).storage_error.value();
  };
  const auto shift = [](const Numbers& stored, std::int64_t factor) {
    return problem_of(plain(), factor, stored).attention_shift.value();
  };
  EXPECT_GT(cost(kQ8, 300), 5 * cost(kQ8, 0));
  EXPECT_GT(shift(kQ8, 300).divergence, 25 * shift(kQ8, 0).divergence);
  EXPECT_GT(shift(kQ8, 300).moved, shift(kQ8, 0).moved);
  EXPECT_GT(cost(kQ4, 0), 5 * cost(kQ8, 0));
  EXPECT_LT(cost(kCache, 10'000), 1.2 * cost(kCache, 0));
  EXPECT_FALSE(problem_of(plain(), 300).attention_shift) << "nothing is rounded";
  EXPECT_TRUE(problem_of(plain(), 300, kQ8).expected.attention_weights.empty());
}

class OutlierLayers : public test::LayerTest {};

void expect_within_limits(const test::LayerCase& layer_case, const Case& shape, std::int64_t factor,
                          const Numbers& numbers) {
  SCOPED_TRACE(shape.id() + " " + std::to_string(factor) + " " + to_string(numbers));
  const Problem problem = problem_of(shape, factor, numbers);
  AttentionOptions options = layer_case.options();
  options.precision = numbers.precision;
  options.weights_dtype = numbers.weights;
  options.cache_dtype = numbers.cache;
  LocalLayer layer(problem, options);
  Matrix y(shape.rows(), shape.output_width());
  const Checked checked = run_and_compare(layer, problem, problem.x.view(), y.view());
  EXPECT_TRUE(checked.comparison.passed) << checked.comparison.reason;
}

TEST_P(OutlierLayers, StayWithinTheirLimits) {
  const bool stores = GetParam().backend != "onednn";  // which declines few bits
  const bool bytes = GetParam().backend == "xsimd" || GetParam().backend == "tbb";
  for (const Case& shape : {plain(), with_sinks()}) {
    for (const std::int64_t factor : {0, 300, 10'000}) {
      expect_within_limits(GetParam(), shape, factor, kF32);
      if (!stores) continue;
      for (const Numbers& stored : {kQ8, kQ4, kCache}) {
        expect_within_limits(GetParam(), shape, factor, stored);
      }
      if (bytes) expect_within_limits(GetParam(), shape, factor, kBytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OutlierLayers, testing::ValuesIn(test::backend_cases()),
                         test::case_name);

// A kernel that leaves the outliers' keys unrounded, or rounds by token, is beyond the bound.
TEST(Outliers, OfACacheThatIsRoundedOtherwiseAreBeyondTheBound) {
  for (const std::int64_t factor : {300, 10'000}) {
    const Problem problem = problem_of(with_sinks(), factor, kCache);
    AttentionOptions options{"naive", Formulation::split, 1};
    LocalLayer unrounded(problem, options);
    Matrix y(problem.shape.rows(), problem.shape.output_width());
    EXPECT_FALSE(run_and_compare(unrounded, problem, problem.x.view(), y.view()).comparison.passed);
  }
}

}  // namespace
}  // namespace headroom::measure::outliers_test
