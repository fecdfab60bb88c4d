#include "headroom/weights.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "support/refusals.hpp"

namespace headroom::weights_test {
namespace {

LayerConfig small(bool bias, std::int64_t d_proj) {
  LayerConfig config;
  config.d_in = 5;
  config.d_out = 12;
  config.heads = 3;
  config.qkv_bias = bias;
  config.d_proj = d_proj;
  return config;
}

void expect_equal(const SplitWeights& a, const SplitWeights& b) {
  EXPECT_EQ(a.query.values, b.query.values);
  EXPECT_EQ(a.key.values, b.key.values);
  EXPECT_EQ(a.value.values, b.value.values);
  EXPECT_EQ(a.query_bias, b.query_bias);
  EXPECT_EQ(a.key_bias, b.key_bias);
  EXPECT_EQ(a.value_bias, b.value_bias);
  EXPECT_EQ(a.output.values, b.output.values);
  EXPECT_EQ(a.output_bias, b.output_bias);
}

TEST(Weights, ComeBackFromHeadsUnchanged) {
  for (const bool bias : {false, true}) {
    for (const std::int64_t d_proj : {0, 7}) {
      const LayerConfig config = small(bias, d_proj);
      const SplitWeights weights = gaussian_weights(config, 3);
      const PerHeadWeights heads = to_per_head(config, weights);
      ASSERT_EQ(heads.heads.size(), 3U);
      const SplitWeights again = to_split(config, heads);
      EXPECT_NO_THROW(check_weights(config, again));
      expect_equal(again, weights);
    }
  }
}

TEST(Weights, HeadOwnsItsColumns) {
  const LayerConfig config = small(true, 0);
  SplitWeights weights = gaussian_weights(config, 3);
  const PerHeadWeights heads = to_per_head(config, weights);
  for (std::int64_t h = 0; h < config.heads; ++h) {
    const HeadWeights& head = heads.heads[static_cast<std::size_t>(h)];
    ASSERT_EQ(head.key.rows, 5);
    ASSERT_EQ(head.key.cols, 4);
    for (std::int64_t c = 0; c < 4; ++c) {
      const auto column = static_cast<std::size_t>(h * 4 + c);
      EXPECT_EQ(head.key_bias[static_cast<std::size_t>(c)], weights.key_bias[column]);
      for (std::int64_t r = 0; r < 5; ++r) {
        EXPECT_EQ(head.query.view().row(r)[c], weights.query.view().row(r)[column]);
        EXPECT_EQ(head.key.view().row(r)[c], weights.key.view().row(r)[column]);
        EXPECT_EQ(head.value.view().row(r)[c], weights.value.view().row(r)[column]);
      }
    }
  }
}

// Six query heads on two key heads, whose keys and values are made of a second input.
LayerConfig grouped(bool bias) {
  LayerConfig config = small(bias, 7);
  config.heads = 6;
  config.kv_heads = 2;
  config.d_memory = 3;
  config.causal = false;
  return config;
}

TEST(Weights, OfGroupedHeadsComeBackUnchanged) {
  for (const bool bias : {false, true}) {
    const LayerConfig config = grouped(bias);
    const SplitWeights weights = gaussian_weights(config, 3);
    EXPECT_EQ(weights.query.rows, 5);
    EXPECT_EQ(weights.key.rows, 3);
    EXPECT_EQ(weights.key.cols, 4);
    expect_equal(to_split(config, to_per_head(config, weights)), weights);
  }
}

TEST(Weights, OfLatentsComeBackUnchanged) {
  LayerConfig config = small(false, 7);
  config.value_dim = 3;
  config.latent = {6, 2, 1};
  const SplitWeights weights = gaussian_weights(config, 3);
  EXPECT_EQ(weights.key_down.cols, 6 + 1);
  EXPECT_EQ(weights.key.rows, 6);
  EXPECT_EQ(weights.key.cols, 3 * (4 - 1));
  EXPECT_EQ(weights.value.cols, 3 * 3);
  EXPECT_EQ(weights.output.rows, 3 * 3);
  const SplitWeights again = to_split(config, to_per_head(config, weights));
  EXPECT_NO_THROW(check_weights(config, again));
  expect_equal(again, weights);
  EXPECT_EQ(again.key_down.values, weights.key_down.values);
  EXPECT_EQ(again.query_down_norm, weights.query_down_norm);
  SplitWeights wrong = weights;
  wrong.key_down_norm.pop_back();
  EXPECT_THROW(check_weights(config, wrong), InvalidArgument);
}

TEST(Weights, HeadsOfAGroupGetTheColumnsOfTheirKeyHead) {
  const LayerConfig config = grouped(true);
  const SplitWeights weights = gaussian_weights(config, 3);
  const PerHeadWeights heads = to_per_head(config, weights);
  for (std::int64_t h = 0; h < config.heads; ++h) {
    const HeadWeights& head = heads.heads[static_cast<std::size_t>(h)];
    const std::int64_t key_head = h < 3 ? 0 : 1;
    for (std::int64_t c = 0; c < 2; ++c) {
      const std::int64_t column = key_head * 2 + c;
      EXPECT_EQ(head.query.view().row(4)[c], weights.query.view().row(4)[h * 2 + c]);
      EXPECT_EQ(head.key_bias[static_cast<std::size_t>(c)],
                weights.key_bias[static_cast<std::size_t>(column)]);
      for (std::int64_t r = 0; r < 3; ++r) {
        EXPECT_EQ(head.key.view().row(r)[c], weights.key.view().row(r)[column]);
        EXPECT_EQ(head.value.view().row(r)[c], weights.value.view().row(r)[column]);
      }
    }
  }
}

struct Misfit {
  const char* names;  // must stand in the message
  std::function<void(SplitWeights&)> change;
};

TEST(Weights, ThatDoNotFitAreNamed) {
  const LayerConfig config = small(true, 7);
  const std::vector<Misfit> table{
      {"query is 5 x 11;", [](SplitWeights& w) { w.query = Matrix(5, 11); }},
      {"key is 12 x 5;", [](SplitWeights& w) { w.key = Matrix(12, 5); }},
      {"value is 0 x 0;", [](SplitWeights& w) { w.value = Matrix(); }},
      {"value is 5 x 12 but holds 59", [](SplitWeights& w) { w.value.values.pop_back(); }},
      {"query_bias has 0", [](SplitWeights& w) { w.query_bias.clear(); }},
      {"key_bias has 13", [](SplitWeights& w) { w.key_bias.push_back(0); }},
      {"value_bias has 11", [](SplitWeights& w) { w.value_bias.pop_back(); }},
      {"output is 7 x 12;", [](SplitWeights& w) { w.output = Matrix(7, 12); }},
      {"output_bias has 0", [](SplitWeights& w) { w.output_bias.clear(); }},
  };
  for (const Misfit& row : table) {
    SplitWeights weights = gaussian_weights(config, 3);
    ASSERT_NO_THROW(check_weights(config, weights));
    row.change(weights);
    test::expect_refused(row.names, [&] { check_weights(config, weights); });
    EXPECT_THROW(to_per_head(config, weights), InvalidArgument) << row.names;
  }
}

TEST(Weights, ThatDoNotFitGroupsOrTheSecondInputAreNamed) {
  const LayerConfig config = grouped(true);
  const std::vector<Misfit> table{
      {"query is 3 x 12;", [](SplitWeights& w) { w.query = Matrix(3, 12); }},
      {"key is 5 x 4;", [](SplitWeights& w) { w.key = Matrix(5, 4); }},
      {"needs 3 x 4 (d_memory x kv_heads * head_dim)",
       [](SplitWeights& w) { w.value = Matrix(3, 12); }},
      {"key_bias has 12", [](SplitWeights& w) { w.key_bias.resize(12); }},
      {"query_bias has 4", [](SplitWeights& w) { w.query_bias.resize(4); }},
  };
  for (const Misfit& row : table) {
    SplitWeights weights = gaussian_weights(config, 3);
    row.change(weights);
    test::expect_refused(row.names, [&] { check_weights(config, weights); });
  }
}

TEST(Weights, MustBeEmptyWhereTheShapeHasNone) {
  const LayerConfig config = small(false, 0);
  const SplitWeights with_bias = gaussian_weights(small(true, 0), 3);
  const SplitWeights with_output = gaussian_weights(small(false, 7), 3);
  EXPECT_THROW(check_weights(config, with_bias), InvalidArgument);
  EXPECT_THROW(check_weights(config, with_output), InvalidArgument);
}

TEST(Weights, PerHeadMisfitsNameTheHead) {
  const LayerConfig config = small(false, 0);
  PerHeadWeights heads = to_per_head(config, gaussian_weights(config, 3));
  heads.heads[1].value = Matrix(5, 3);
  test::expect_refused("head 1 value is 5 x 3", [&] { to_split(config, heads); });
  heads.heads.pop_back();
  EXPECT_THROW(to_split(config, heads), InvalidArgument);
}

}  // namespace
}  // namespace headroom::weights_test
