#include "headroom/initialise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "headroom/dropout.hpp"
#include "support/golden.hpp"

namespace headroom::initialise_test {
namespace {

using test::golden_matrix;

// Nine digits name a float exactly, so the reproducible draws must agree to the bit.
void expect_golden(const std::vector<float>& values, const std::string& example,
                   const std::string& path) {
  EXPECT_EQ(values, golden_matrix(example, path).values) << example << "/" << path;
}

Case layer(std::int64_t d_in, std::int64_t d_out, std::int64_t heads, std::int64_t d_proj) {
  Case shape;
  shape.tokens = 1;
  shape.d_in = d_in;
  shape.d_out = d_out;
  shape.heads = heads;
  shape.d_proj = d_proj;
  return shape;
}

TEST(UniformMatrices, AreTorchRand) {
  const std::vector<Matrix> matrices = uniform_matrices(3, 2, 3, 123);
  ASSERT_EQ(matrices.size(), 3U);
  expect_golden(matrices[0].values, "self_attention_v1", "w_query");
  expect_golden(matrices[1].values, "self_attention_v1", "w_key");
  expect_golden(matrices[2].values, "self_attention_v1", "w_value");
}

TEST(LinearWeights, AreTorchLinear) {
  for (const auto& [example, seed] : std::vector<std::pair<std::string, std::uint32_t>>{
           {"self_attention_v2", 789}, {"causal_attention", 123}}) {
    const SplitWeights weights = linear_weights(layer(3, 2, 1, 0), seed);
    expect_golden(weights.query.values, example, "w_query");
    expect_golden(weights.key.values, example, "w_key");
    expect_golden(weights.value.values, example, "w_value");
    EXPECT_TRUE(weights.output_bias.empty());
  }
}

TEST(LinearWeights, DrawTheOutputProjectionLast) {
  const SplitWeights weights = linear_weights(layer(3, 2, 2, 2), 123);
  expect_golden(weights.query.values, "split_journey", "w_query");
  expect_golden(weights.key.values, "split_journey", "w_key");
  expect_golden(weights.value.values, "split_journey", "w_value");
  expect_golden(weights.output.values, "split_journey", "w_out");
  expect_golden(weights.output_bias, "split_journey", "b_out");
}

TEST(LinearWeights, DrawEachBiasAfterItsMatrix) {
  Case shape = layer(6, 6, 2, 6);
  shape.qkv_bias = true;
  const SplitWeights weights = linear_weights(shape, 123);
  const std::string example = "split_six_bias";
  expect_golden(weights.query.values, example, "w_query");
  expect_golden(weights.query_bias, example, "b_query");
  expect_golden(weights.key.values, example, "w_key");
  expect_golden(weights.key_bias, example, "b_key");
  expect_golden(weights.value.values, example, "w_value");
  expect_golden(weights.value_bias, example, "b_value");
  expect_golden(weights.output.values, example, "w_out");
  expect_golden(weights.output_bias, example, "b_out");
}

TEST(LinearWeights, PerHeadAreTheTextbooksWrapper) {
  const PerHeadWeights weights = linear_weights_per_head(layer(3, 4, 2, 0), 123);
  for (const std::string head : {"0", "1"}) {
    const HeadWeights& found = weights.heads[static_cast<std::size_t>(std::stoi(head))];
    expect_golden(found.query.values, "wrapper_journey", "heads/" + head + "/w_query");
    expect_golden(found.key.values, "wrapper_journey", "heads/" + head + "/w_key");
    expect_golden(found.value.values, "wrapper_journey", "heads/" + head + "/w_value");
  }
}

// nn.Linear draws the transpose, so the first columns of a wide matrix are those of a narrow one.
TEST(LinearWeights, AreAsWideAsTheKeyHeads) {
  Case shape = layer(6, 8, 4, 0);
  shape.kv_heads = 2;
  const SplitWeights weights = linear_weights(shape, 123);
  const SplitWeights plain = linear_weights(layer(6, 8, 4, 0), 123);
  EXPECT_EQ(weights.query.values, plain.query.values);
  ASSERT_EQ(weights.key.cols, 4);
  for (std::int64_t c = 0; c < 4; ++c) {
    EXPECT_EQ(weights.key.view().row(5)[c], plain.key.view().row(5)[c]);
    EXPECT_EQ(weights.value.view().row(5)[c], plain.key.view().row(5)[4 + c]);
  }
}

TEST(LinearWeights, HeadsOfAGroupShareOneDraw) {
  Case shape = layer(6, 8, 4, 0);
  shape.kv_heads = 2;
  const std::vector<HeadWeights> heads = linear_weights_per_head(shape, 123).heads;
  EXPECT_EQ(heads[1].key.values, heads[0].key.values);
  EXPECT_EQ(heads[3].value.values, heads[2].value.values);
  EXPECT_NE(heads[2].key.values, heads[0].key.values);
  EXPECT_NE(heads[1].query.values, heads[0].query.values);
}

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0, beyond_three = 0;
};

Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) m.mean += static_cast<double>(v) / n;
  for (const float v : values) {
    const double square = (static_cast<double>(v) - m.mean) * (static_cast<double>(v) - m.mean);
    m.variance += square / n;
    m.kurtosis += square * square / n;
    if (std::abs(v) > 3) m.beyond_three += 1 / n;
  }
  m.kurtosis /= m.variance * m.variance;
  return m;
}

TEST(Gaussian, InputIsStandardNormal) {
  Case shape = layer(1000, 1, 1, 0);
  shape.tokens = 1000;
  const Moments m = moments(gaussian_input(shape.rows(), shape, 5).values);
  const double sigma = 1 / std::sqrt(1e6);  // of the mean of a million values
  EXPECT_NEAR(m.mean, 0, 5 * sigma);
  EXPECT_NEAR(m.variance, 1, 5 * sigma * std::sqrt(2.0));
  EXPECT_NEAR(m.kurtosis, 3, 5 * sigma * std::sqrt(24.0));
  EXPECT_NEAR(m.beyond_three, 0.0026998, 5 * sigma * std::sqrt(0.0027));
}

TEST(Gaussian, WeightsAreScaledByTheirRows) {
  Case shape = layer(400, 500, 1, 600);
  shape.qkv_bias = true;
  const SplitWeights w = gaussian_weights(shape, 5);
  for (const Matrix* matrix : {&w.query, &w.key, &w.value}) {
    EXPECT_NEAR(moments(matrix->values).variance * 400, 1, 5 * std::sqrt(2.0 / (400 * 500)));
  }
  EXPECT_NEAR(moments(w.output.values).variance * 500, 1, 5 * std::sqrt(2.0 / (500 * 600)));
  EXPECT_NEAR(moments(w.key_bias).variance, 0.01, 0.01 * 5 * std::sqrt(2.0 / 500));
  EXPECT_EQ(w.output_bias.size(), 600U);
}

TEST(Gaussian, MatricesAndSeedsDiffer) {
  const Case shape = layer(8, 8, 1, 8);
  const SplitWeights w = gaussian_weights(shape, 5);
  EXPECT_NE(w.query.values, w.key.values);
  EXPECT_NE(w.key.values, w.value.values);
  EXPECT_NE(w.value.values, w.output.values);
  EXPECT_NE(w.query.values, gaussian_weights(shape, 6).query.values);
  EXPECT_EQ(w.query.values, gaussian_weights(shape, 5).query.values);
}

TEST(Gaussian, InputsHaveDrawsOfTheirOwn) {
  Case shape = layer(6, 8, 1, 0);
  shape.batch = 2;
  shape.past = 3;
  const Matrix x = gaussian_input(shape.rows(), shape, 5);
  const Matrix past = gaussian_past(shape.batch * shape.past, shape, 5);
  EXPECT_EQ(past.rows, 6);
  EXPECT_EQ(past.cols, 6);
  EXPECT_NE(past.values[0], x.values[0]);
  EXPECT_EQ(gaussian_memory(shape.memory_rows(), shape, 5).rows, 0);
  shape.causal = false;
  shape.d_memory = 4;
  shape.memory_tokens = 7;
  const Matrix memory = gaussian_memory(shape.memory_rows(), shape, 5);
  EXPECT_EQ(memory.rows, 14);
  EXPECT_EQ(memory.cols, 4);
  EXPECT_NE(memory.values[0], x.values[0]);
  EXPECT_NE(memory.values[0], past.values[0]);
  EXPECT_EQ(gaussian_past(shape.batch * shape.past, shape, 5).cols, 4) << "what keys are made of";
  EXPECT_EQ(gaussian_input(shape.rows(), shape, 5).values, x.values);
  EXPECT_NE(gaussian_memory(shape.memory_rows(), shape, 6).values, memory.values);
  EXPECT_EQ(gaussian_memory(shape.memory_rows(), shape, 5).values, memory.values);
  EXPECT_NEAR(moments(gaussian_past(shape.batch * shape.past, shape, 5).values).variance, 1, 1);
}

TEST(Gaussian, RaggedInputHasTheRowsOfItsLengths) {
  Case shape = layer(6, 8, 1, 0);
  shape.batch = 3;
  shape.tokens = 4;
  shape.lengths = {4, 0, 1};
  EXPECT_EQ(gaussian_input(shape.rows(), shape, 5).rows, 5);
}

// The library's own series against the C library, over a matrix large enough to be shared among
// threads: every value depends on seed and index only.
TEST(Gaussian, IsBoxMullerOfPhiloxAtEveryIndex) {
  Case shape = layer(1601, 1, 1, 0);
  shape.tokens = 1401;  // 2.2 million values, not a multiple of 4
  const std::vector<float> x = gaussian_input(shape.rows(), shape, 0x1234567890).values;
  constexpr std::uint32_t kInputStream = 8;
  std::int64_t other_roundings = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto draws =
        philox4x32({static_cast<std::uint32_t>(i / 4), 0, kInputStream, 0}, {0x34567890, 0x12});
    const std::size_t pair = i % 4 / 2 * 2;
    const double u = (static_cast<double>(draws[pair]) + 0.5) / 4294967296.0;
    const double turn = static_cast<double>(draws[pair + 1]) / 4294967296.0 - 0.125;
    const double angle = 2 * std::numbers::pi * turn;
    const double radius = std::sqrt(-2 * std::log(u));
    const double expected = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(static_cast<double>(x[i]), expected, 1e-7 * radius) << i;
    other_roundings += x[i] == static_cast<float>(expected) ? 0 : 1;
  }
  // An error of 1e-11 changes the rounding to float about once in a thousand values.
  EXPECT_LT(other_roundings, std::ssize(x) / 1000);
}

}  // namespace
}  // namespace headroom::initialise_test
