// Heads are divided among ranks so that each is computed once, with the key head that it uses.
#include "headroom/head_share.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "core/case_layer.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"
#include "support/layer_data.hpp"

namespace headroom::test::head_share_test {
namespace {

Case shape_of(std::int64_t heads, std::int64_t key_heads) {
  Case shape;
  shape.tokens = 3;
  shape.d_in = 10;
  shape.heads = heads;
  shape.kv_heads = key_heads;
  shape.d_out = heads * 4;
  shape.d_proj = 6;
  return shape;
}

class HeadShares : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(HeadShares, CoverEveryHeadOnce) {
  const auto [heads, key_heads, ranks] = GetParam();
  const Case shape = shape_of(heads, key_heads);
  const std::int64_t group = heads / key_heads;
  std::int64_t next = 0, most = 0, least = heads;
  for (int rank = 0; rank < ranks; ++rank) {
    const HeadShare share = share_of(shape, ranks, rank);
    if (rank == 0) {
      EXPECT_GT(share.heads, 0);
    }
    if (share.heads > 0) {
      EXPECT_EQ(share.first_head, next);
      EXPECT_EQ(share.first_key_head, share.first_head / group);
      EXPECT_EQ(share.first_key_head + share.key_heads - 1,
                (share.first_head + share.heads - 1) / group);
      EXPECT_EQ(share.heads % share.key_heads, 0) << "groups of one size";
      EXPECT_NO_THROW(share_config(shape, share).validate());
    }
    next += share.heads;
    most = std::max(most, share.heads);
    least = std::min(least, share.heads);
  }
  EXPECT_EQ(next, heads);
  if (ranks <= key_heads) {
    EXPECT_LE(most - least, group);
  } else {
    EXPECT_LE(most, group);
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, HeadShares,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(12, 12, 5),
                                         std::tuple(96, 96, 64), std::tuple(96, 8, 3),
                                         std::tuple(96, 8, 12), std::tuple(32, 8, 64),
                                         std::tuple(5, 5, 8), std::tuple(7, 1, 4),
                                         std::tuple(6, 2, 7)));

TEST(HeadShare, WeightsOfAllSharesAreTheWhole) {
  Case shape = shape_of(6, 2);
  shape.qkv_bias = true;
  const SplitWeights all = gaussian_weights(shape, 3);
  const HeadShare second = share_of(shape, 4, 1);
  EXPECT_EQ(second, (HeadShare{2, 1, 0, 1}));
  const SplitWeights own = share_weights(shape, all, second);
  ASSERT_NO_THROW(check_weights(share_config(shape, second), own));
  for (std::int64_t r = 0; r < shape.d_in; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(own.query.view().row(r)[c], all.query.view().row(r)[8 + c]);
      EXPECT_EQ(own.key.view().row(r)[c], all.key.view().row(r)[c]);
      EXPECT_EQ(own.value.view().row(r)[c], all.value.view().row(r)[c]);
    }
  }
  for (std::int64_t c = 0; c < 4; ++c) {
    EXPECT_EQ(own.query_bias[static_cast<std::size_t>(c)],
              all.query_bias[static_cast<std::size_t>(8 + c)]);
    for (std::int64_t p = 0; p < shape.d_proj; ++p) {
      EXPECT_EQ(own.output.view().row(c)[p], all.output.view().row(8 + c)[p]);
    }
  }
}

TEST(HeadShare, SharesOfALatentLayerAddUpToIt) {
  Case shape = shape_of(5, 5);
  shape.value_dim = 3;
  shape.latent = {7, 4, 2};
  shape.rotary.pairs = Rotary::Pairs::neighbours;
  const SplitWeights all = gaussian_weights(shape, 3);
  const Matrix x = gaussian_input(shape.tokens, shape, 1);
  AttentionOptions options;
  options.backend = "naive";
  const auto run = [&](const Case& layer, const SplitWeights& weights) {
    Matrix y(shape.tokens, shape.output_width());
    layer_for(layer, weights, options).forward(x.view(), y.view());
    return y;
  };
  const Matrix whole = run(shape, all);
  std::vector<double> sum(whole.values.size());
  for (int rank = 0; rank < 2; ++rank) {
    const HeadShare share = share_of(shape, 2, rank);
    const Case own{share_config(shape, share), {.tokens = shape.tokens}, {}};
    const Matrix part = run(own, share_weights(shape, all, share));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part.values[i]);
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum[i], static_cast<double>(whole.values[i]), 1e-5);
  }
}

TEST(HeadShare, OneRankAloneBringsTheOutputsBias) {
  const Case shape = shape_of(6, 6);
  const SplitWeights all = gaussian_weights(shape, 3);
  EXPECT_EQ(share_weights(shape, all, share_of(shape, 2, 0)).output_bias, all.output_bias);
  EXPECT_EQ(share_weights(shape, all, share_of(shape, 2, 1)).output_bias,
            std::vector<float>(6, 0.0F));
}

TEST(HeadShare, ARankThatDoesNotExistIsRefused) {
  const Case shape = shape_of(6, 6);
  EXPECT_THROW(share_of(shape, 0, 0), InvalidArgument);
  EXPECT_THROW(share_of(shape, 2, 2), InvalidArgument);
  EXPECT_THROW(share_of(shape, 2, -1), InvalidArgument);
}

// Dropout's pattern goes by a head's place in the whole layer.
TEST(HeadShare, AHeadThatTheLargerLayerDoesNotHaveIsRefused) {
  const Case shape = shape_of(2, 2);
  const SplitWeights weights = gaussian_weights(shape, 3);
  AttentionOptions options;
  options.heads_of = {5, 6};
  EXPECT_THROW(layer_for(shape, weights, options), InvalidArgument);
  options.heads_of = {4, 6};
  EXPECT_NO_THROW(layer_for(shape, weights, options));
}

}  // namespace
}  // namespace headroom::test::head_share_test
