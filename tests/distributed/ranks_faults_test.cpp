// What one rank refuses, all refuse, and nothing is lost.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/distributed.hpp"
#include "headroom/error.hpp"
#include "support/call_shapes.hpp"
#include "support/layer_cases.hpp"
#include "support/ranks.hpp"

namespace headroom::test::ranks_faults_test {
namespace {

Case small_shape() {
  Case shape = plain_shape(8, 16, 4, 8);
  shape.d_proj = 16;
  return shape;
}

int last_rank() { return world_size() - 1; }

template <class Error, class Work>
void expect_refusal(const Work& work, const std::string& first, const std::string& second) {
  try {
    work();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(first), std::string::npos) << text;
    EXPECT_NE(text.find(second), std::string::npos) << text;
  }
}

std::string last_name() { return "rank " + std::to_string(last_rank()) + ":"; }

class RanksFaults : public testing::TestWithParam<int> {
 protected:
  DistributedOptions how() const { return {0, GetParam()}; }
};

TEST_P(RanksFaults, AWrongViewOfOneRankIsRefusedByAllAndLosesNothing) {
  const Layer layer = gaussian_layer(small_shape());
  DistributedAttention attention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {},
                                 how());
  DistributedCache cache(attention, {1, 20});
  Matrix y(8, 16);
  attention.forward(layer.x.view(), y.view(), {}, &cache);
  const Matrix before = y;
  ConstMatrixView x = layer.x.view();
  if (world_rank() == last_rank()) x.row_stride = 3;
  expect_refusal<InvalidArgument>([&] { attention.forward(x, y.view(), {}, &cache); }, last_name(),
                                  "stride");
  EXPECT_TRUE(same_bits(y, before));
  EXPECT_EQ(cache.length(), 8);
  // The next call finds the cache as it was.
  Matrix next(1, 16), expected(1, 16);
  attention.forward(layer.x.view().slice(2, 1), next.view(), {}, &cache);
  Attention alone = layer_for(layer.shape, layer.weights);
  KeyValueCache its_cache(alone, {1, 20});
  alone.forward(layer.x.view(), y.view(), {.cache = &its_cache});
  alone.forward(layer.x.view().slice(2, 1), expected.view(), {.cache = &its_cache});
  EXPECT_TRUE(agree(next, expected));
}

TEST_P(RanksFaults, DifferentCallsAreRefused) {
  if (world_size() == 1) GTEST_SKIP() << "takes two ranks";
  const Layer layer = gaussian_layer(small_shape());
  DistributedAttention attention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {},
                                 how());
  const std::int64_t rows = world_rank() == 0 ? 8 : 7;
  Matrix y(rows, 16);
  expect_refusal<InvalidArgument>(
      [&] { attention.forward(layer.x.view().slice(0, rows), y.view()); }, "same call", "");
  Matrix whole(8, 16);
  EXPECT_NO_THROW(attention.forward(layer.x.view(), whole.view()));
  const std::vector<float> zeros(8);
  Call masked;
  if (world_rank() == 0) masked.mask = {.added = zeros.data(), .keys = 8};
  expect_refusal<InvalidArgument>([&] { attention.forward(layer.x.view(), whole.view(), masked); },
                                  "same call", "");
}

// Of two sequences and two memories, one rank is told the lengths of these, the others of those.
TEST_P(RanksFaults, LengthsAndMemoryLengthsAreNotTakenForEachOther) {
  if (world_size() == 1) GTEST_SKIP() << "takes two ranks";
  Case shape = plain_shape(4, 16, 4, 8);
  shape.batch = 2;
  shape.causal = false;
  shape.d_memory = 12;
  shape.memory_tokens = 4;
  const Layer layer = gaussian_layer(shape);
  DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own_weights(layer), {}, how());
  const Matrix memory(6, 12);
  const Lengths lengths{2, 4};
  Call call;
  call.memory = memory.view();
  (world_rank() == 0 ? call.lengths : call.memory_lengths) = lengths;
  Matrix y(6, shape.output_width());
  expect_refusal<InvalidArgument>(
      [&] { attention.forward(layer.x.view().slice(0, 6), y.view(), call); }, "same call", "");
}

TEST_P(RanksFaults, AFullCacheIsRefusedByAll) {
  const Layer layer = gaussian_layer(small_shape());
  DistributedAttention attention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {},
                                 how());
  DistributedCache cache(attention, {1, 10});
  Matrix y(8, 16);
  attention.forward(layer.x.view(), y.view(), {}, &cache);
  expect_refusal<InvalidArgument>([&] { attention.forward(layer.x.view(), y.view(), {}, &cache); },
                                  "rank 0:", "room for 2 more");
  expect_refusal<InvalidArgument>([&] { attention.append(layer.x.view(), {}, cache); },
                                  "rank 0:", "room for 2 more");
  EXPECT_EQ(cache.length(), 8);
  EXPECT_NO_THROW(attention.append(layer.x.view().slice(0, 2), {}, cache));
  EXPECT_EQ(cache.length(), 10);
}

TEST_P(RanksFaults, ACacheOfAnotherLayerIsRefused) {
  const Layer layer = gaussian_layer(small_shape());
  DistributedAttention one(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {}, how());
  DistributedAttention other(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {},
                             how());
  DistributedCache cache(other, {1, 10});
  Matrix y(8, 16);
  expect_refusal<InvalidArgument>([&] { one.forward(layer.x.view(), y.view(), {}, &cache); },
                                  "rank 0:", "another layer");
}

TEST(RanksLayerMaking, WeightsThatDoNotFitAreRefusedByAll) {
  const Layer layer = gaussian_layer(small_shape());
  SplitWeights own = own_weights(layer);
  if (world_rank() == last_rank()) own.query = Matrix(3, 3);
  if (share_of(layer.shape, world_size(), last_rank()).heads == 0) GTEST_SKIP() << "no heads there";
  expect_refusal<InvalidArgument>(
      [&] { DistributedAttention(MPI_COMM_WORLD, layer.shape, layer.shape, own); }, last_name(),
      "query is 3 x 3");
}

TEST(RanksLayerMaking, AnUnknownBackendOfOneRankIsRefusedByAll) {
  const Layer layer = gaussian_layer(small_shape());
  if (share_of(layer.shape, world_size(), last_rank()).heads == 0) GTEST_SKIP() << "no heads there";
  AttentionOptions options;
  if (world_rank() == last_rank()) options.backend = "abacus";
  const SplitWeights own = own_weights(layer);
  expect_refusal<InvalidArgument>(
      [&] { DistributedAttention(MPI_COMM_WORLD, layer.shape, layer.shape, own, options); },
      last_name(), "abacus");
}

TEST(RanksLayerMaking, DifferentShapesAreRefused) {
  if (world_size() == 1) GTEST_SKIP() << "takes two ranks";
  const Layer layer = gaussian_layer(small_shape());
  const SplitWeights own = own_weights(layer);
  Case other = layer.shape;
  if (world_rank() == last_rank()) other.causal = false;
  expect_refusal<InvalidArgument>([&] { DistributedAttention(MPI_COMM_WORLD, other, other, own); },
                                  "different layers", "");
}

TEST(RanksLayerMaking, RankZeroHasToBringTheWeights) {
  expect_refusal<InvalidArgument>([&] { scatter_weights(MPI_COMM_WORLD, small_shape(), nullptr); },
                                  "rank 0", "brings none");
}

TEST(RanksLayerMaking, NoCommunicatorIsRefused) {
  const Layer layer = gaussian_layer(small_shape());
  expect_refusal<InvalidArgument>(
      [&] { DistributedAttention(MPI_COMM_NULL, layer.shape, layer.shape, layer.weights); },
      "MPI_COMM_NULL", "");
}

TEST(RanksLayerMaking, ALayerMayMoveAndBeReplaced) {
  const Layer layer = gaussian_layer(small_shape());
  DistributedAttention first(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer));
  DistributedAttention second = std::move(first);
  second = DistributedAttention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer));
  Matrix y(8, 16);
  second.forward(layer.x.view(), y.view());
  EXPECT_TRUE(same_on_all_ranks(y));
  EXPECT_EQ(second.ranks(), world_size());
  EXPECT_EQ(second.rank(), world_rank());
}

// A rank that does something else for a while is not lost; one that never comes is, if asked for.
TEST(RanksLayerWaiting, PatienceEndsTheWait) {
  if (world_size() == 1) GTEST_SKIP() << "takes two ranks";
  const Layer layer = gaussian_layer(small_shape());
  DistributedOptions how;
  how.patience = 0.3;
  DistributedAttention attention(MPI_COMM_WORLD, layer.shape, layer.shape, own_weights(layer), {},
                                 how);
  Matrix y(8, 16);
  attention.forward(layer.x.view(), y.view());
  if (world_rank() != last_rank()) {
    EXPECT_THROW(attention.forward(layer.x.view(), y.view()), RankLost);
    EXPECT_THROW(attention.forward(layer.x.view(), y.view()), RankLost);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // The one that did not come has lost nobody, and freeing would wait for the others.
  if (world_rank() == last_rank()) {
    static std::vector<DistributedAttention> kept;
    kept.push_back(std::move(attention));
  }
}

INSTANTIATE_TEST_SUITE_P(RanksAMachine, RanksFaults, testing::Values(0, 1, 2));

}  // namespace
}  // namespace headroom::test::ranks_faults_test
