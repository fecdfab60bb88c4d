// A layer over ranks computes what one process computes. Runs under mpirun with several numbers of
// ranks; all ranks run the same tests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/distributed.hpp"
#include "headroom/error.hpp"
#include "support/call_shapes.hpp"
#include "support/dot_product_calls.hpp"
#include "support/layer_cases.hpp"
#include "support/ranks.hpp"

namespace headroom::test::ranks_layer_test {
namespace {

using reference::Data;

// 96 heads, heads that no number of ranks divides, fewer key heads than ranks, and every option.
std::vector<Case> rank_shapes() {
  Case many = plain_shape(20, 96, 96, 4);
  many.d_proj = 96;
  Case odd = plain_shape(33, 40, 5, 24);
  odd.d_proj = 13;
  odd.batch = 2;
  odd.qkv_bias = true;
  Case one = plain_shape(17, 24, 1, 59);
  one.d_proj = 24;
  Case shared = plain_shape(40, 48, 12, 8);
  shared.kv_heads = 2;
  shared.d_proj = 48;
  Case dropped = odd;
  dropped.dropout = 0.3;
  dropped.dropout_seed = 5;
  Case apart = plain_shape(37, 48, 6, 16);
  Case open = plain_shape(40, 32, 4, 16);
  open.causal = false;
  open.d_proj = 32;
  Case ragged = plain_shape(40, 64, 4, 16);
  ragged.batch = 4;
  ragged.d_proj = 64;
  ragged.lengths = {17, 0, 40, 1};
  Case crossed = plain_shape(9, 32, 6, 8);
  crossed.causal = false;
  crossed.d_memory = 20;
  crossed.memory_tokens = 30;
  crossed.d_proj = 32;
  Case single = plain_shape(1, 64, 8, 16);
  single.d_proj = 64;
  Case thousand = plain_shape(1024, 16, 6, 4);
  thousand.d_proj = 16;
  Case empty = open;
  empty.tokens = 0;
  return {many,    odd,    one,      shared, dropped,          apart, open, ragged,
          crossed, single, thousand, empty,  with_everything()};
}

class RanksLayer : public LayerTest {};

Matrix run_over_ranks(const LayerCase& who, const Layer& layer, const DistributedOptions& how,
                      int times = 1) {
  DistributedAttention attention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer),
                                 who.options(1), how);
  Call call;
  call.lengths = layer.shape.lengths;
  if (layer.shape.d_memory > 0) call.memory = layer.memory.view();
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  for (int i = 0; i < times; ++i) {
    std::fill(y.values.begin(), y.values.end(), 1e30F);
    attention.forward(layer.x.view(), y.view(), call);
  }
  return y;
}

TEST_P(RanksLayer, IsWhatTheOracleComputes) {
  for (const Case& shape : rank_shapes()) {
    const Layer layer = gaussian_layer(shape);
    const Matrix y = run_over_ranks(GetParam(), layer, {});
    const Data data = shape.dropout > 0 ? Data::adversarial : Data::standard;
    const reference::Comparison result = reference::compare(oracle(layer), y.view(), data);
    EXPECT_TRUE(result.passed) << shape.id() << ": " << result.reason;
    EXPECT_TRUE(same_on_all_ranks(y)) << shape.id();
  }
}

TEST_P(RanksLayer, HasTheSameBitsInEveryRun) {
  for (const Case& shape : rank_shapes()) {
    const Layer layer = gaussian_layer(shape);
    const Matrix once = run_over_ranks(GetParam(), layer, {});
    const Matrix again = run_over_ranks(GetParam(), layer, {}, 3);
    if (GetParam().same_bits_everywhere()) {
      EXPECT_TRUE(same_bits(once, again)) << shape.id();
    }
  }
}

TEST_P(RanksLayer, WorksBetweenMachines) {
  for (const int on_one : {1, 2, 3}) {
    for (const Case& shape : rank_shapes()) {
      const Layer layer = gaussian_layer(shape);
      const Matrix y = run_over_ranks(GetParam(), layer, {0, on_one}, 2);
      EXPECT_TRUE(agree(y, run_over_ranks(GetParam(), layer, {})))
          << shape.id() << ", " << on_one << " ranks a machine";
      EXPECT_TRUE(same_on_all_ranks(y)) << shape.id() << ", " << on_one << " ranks a machine";
    }
  }
}

// Chunks, single tokens, a row nobody asks for, and a forgotten end.
TEST_P(RanksLayer, ACacheIsThatOfOneProcess) {
  Case shape = with_everything();
  shape.batch = 2;
  const Layer layer = gaussian_layer(shape);
  Attention alone = layer_for(shape, layer.weights, GetParam().options(1));
  KeyValueCache its_cache(alone, {2, 400});
  for (const int on_one : {0, 2}) {
    its_cache.clear();
    DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own_weights(layer),
                                   GetParam().options(1), {0, on_one});
    DistributedCache cache(attention, {2, 400});
    const auto step = [&](const Lengths& lengths, bool append) {
      const std::int64_t rows = lengths[0] + lengths[1];
      const ConstMatrixView x = layer.x.view().slice(3, rows);
      Matrix y(rows, shape.output_width());
      Matrix expected(rows, shape.output_width());
      Call call;
      call.lengths = lengths;
      if (append) {
        attention.append(x, call, cache);
      } else {
        attention.forward(x, y.view(), call, &cache);
      }
      call.cache = &its_cache;
      alone.forward(x, expected.view(), call);
      if (!append) {
        EXPECT_TRUE(agree(y, expected)) << lengths[0] << " " << lengths[1];
        EXPECT_TRUE(same_on_all_ranks(y));
      }
      for (std::int64_t i = 0; i < 2; ++i) EXPECT_EQ(cache.length(i), its_cache.length(i));
    };
    step({140, 3}, false);
    step({5, 150}, true);
    step({1, 1}, false);
    step({0, 7}, false);
    cache.truncate({0, 20});
    its_cache.truncate({0, 20});
    step({1, 1}, false);
    cache.clear();
    its_cache.clear();
    step({2, 1}, false);
    EXPECT_EQ(cache.sequences(), 2);
    EXPECT_EQ(cache.capacity(), 400);
  }
}

// Padding is neither read nor written.
TEST_P(RanksLayer, APaddedBatchLeavesItsPaddingAlone) {
  for (const std::int64_t d_proj : {0, 24}) {
    Case shape = plain_shape(12, 32, 6, 8);
    shape.batch = 3;
    shape.d_proj = d_proj;
    const Layer layer = gaussian_layer(shape);
    const Lengths lengths{5, 12, 0};
    Call call;
    call.lengths = lengths;
    call.padded_tokens = 12;
    Matrix expected(36, shape.output_width());
    std::fill(expected.values.begin(), expected.values.end(), -7.0F);
    for (const int on_one : {0, 2}) {
      Matrix y = expected;
      DistributedAttention(MPI_COMM_WORLD, shape, shape, own_weights(layer), GetParam().options(1),
                           {0, on_one})
          .forward(layer.x.view(), y.view(), call);
      Matrix alone = expected;
      layer_for(shape, layer.weights, GetParam().options(1))
          .forward(layer.x.view(), alone.view(), call);
      EXPECT_TRUE(agree(y, alone)) << d_proj;
      EXPECT_EQ(y.view().row(5)[0], -7.0F);
      EXPECT_EQ(y.view().row(35)[3], -7.0F);
    }
  }
}

// For all heads, and of each head alone, of any kind; one that has other heads is refused by all.
TEST_P(RanksLayer, AMaskIsDividedAsTheHeadsAre) {
  for (const std::int64_t d_proj : {0, 24}) {
    Case shape = plain_shape(12, 32, 6, 8);
    shape.batch = 2;
    shape.d_proj = d_proj;
    const Layer layer = gaussian_layer(shape);
    DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own_weights(layer),
                                   GetParam().options(1));
    Attention alone = layer_for(shape, layer.weights, GetParam().options(1));
    Matrix y(shape.rows(), shape.output_width()), expected = y;
    for (const MaskKind kind : {MaskKind::added, MaskKind::added_bf16, MaskKind::seen}) {
      for (const bool by_head : {false, true}) {
        RandomCall of;
        of.mask = kind;
        of.sizes = {2, 12, 12, 6, 0, 8};
        of.mask_heads = of.mask_queries = by_head;
        std::mt19937 random(3);
        const Mask mask(of, random);
        attention.forward(layer.x.view(), y.view(), {.mask = mask.view()});
        alone.forward(layer.x.view(), expected.view(), {.mask = mask.view()});
        EXPECT_TRUE(agree(y, expected)) << describe(of);
        MaskView other = mask.view();
        other.heads = 5;
        EXPECT_THROW(attention.forward(layer.x.view(), y.view(), {.mask = other}), InvalidArgument);
      }
    }
  }
}

TEST_P(RanksLayer, EachRankPacksItsShareAlone) {
  Case shape = plain_shape(16, 64, 96, 8);
  shape.d_proj = 64;
  const Layer layer = gaussian_layer(shape);
  const SplitWeights own = own_weights(layer);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const HeadShare share = share_of(shape, ranks, rank);
  EXPECT_EQ(own.query.cols, share.heads * 8);
  EXPECT_EQ(own.output.rows, share.heads * 8);
  const DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own, GetParam().options(1));
  const Attention alone = layer_for(shape, layer.weights, GetParam().options(1));
  // Panels are rounded up on every rank.
  EXPECT_LE(attention.costs().packed_bytes, 2 * alone.costs().packed_bytes);
  EXPECT_GE(attention.costs().packed_bytes, alone.costs().packed_bytes);
}

// Next to no work and much to read, so that a rank is in its next call while others still read.
TEST(RanksCalls, ARankThatIsAheadOverwritesNothing) {
  for (const std::int64_t d_proj : {0, 2048}) {
    Case shape = plain_shape(256, 1, 8, 64);
    shape.window = 1;
    shape.d_proj = d_proj;
    const Layer layer = gaussian_layer(shape);
    Matrix inputs[2] = {layer.x, gaussian_input(shape.rows(), shape, 99)};
    Matrix expected[2];
    AttentionOptions options;
    options.threads = 1;
    DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own_weights(layer), options);
    Matrix y(shape.rows(), shape.output_width());
    for (int i = 0; i < 2; ++i) {
      attention.forward(inputs[i].view(), y.view());
      attention.meet();
      expected[i] = y;
    }
    int wrong = 0;
    for (int call = 0; call < 60; ++call) {
      attention.forward(inputs[call % 2].view(), y.view());
      // One of them dawdles, another one each time.
      if (call % world_size() == world_rank()) usleep(300);
      wrong += same_bits(y, expected[call % 2]) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "calls, with d_proj " << d_proj;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RanksLayer, testing::ValuesIn(best_level_cases()), case_name);

}  // namespace
}  // namespace headroom::test::ranks_layer_test
