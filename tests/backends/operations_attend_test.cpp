// `attend` of every backend against a double loop, for all sizes, strides and layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "support/attend_problem.hpp"

namespace headroom::test::operations_attend_test {
namespace {

const std::vector<std::int64_t> kTokens = {1,  2,  3,  13, 14,  15,  16,  31,
                                           33, 63, 64, 65, 255, 256, 257, 300};
const std::vector<std::int64_t> kHeadDims = {1, 3, 8, 40, 59, 64, 80, 111, 128};

// Every token count with a few widths, and every width with both masks; long sequences with one
// head, so that the double loop stays quick.
void expect_all_sizes(bool causal, const std::function<void(const Case&)>& check) {
  std::size_t turn = causal ? 0 : 4;
  for (const std::int64_t tokens : kTokens) {
    for (int pick = 0; pick < (tokens > 65 ? 2 : 4); ++pick, ++turn) {
      const std::int64_t head_dim = kHeadDims[turn * 2 % kHeadDims.size()];
      const std::int64_t heads = turn % 2 == 0 || tokens > 255 ? 1 : 3;
      const std::int64_t batch = turn % 3 == 0 && tokens <= 255 ? 2 : 1;
      check(attention_shape(tokens, head_dim, heads, batch, causal));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(OperationAttend, CausalMatchesADoubleLoop) {
  expect_all_sizes(true, [&](const Case& shape) {
    const AttendProblem values = make_problem(shape);
    run(values);
    ASSERT_TRUE(matches(values));
  });
}

TEST_P(OperationAttend, UnmaskedMatchesADoubleLoop) {
  expect_all_sizes(false, [&](const Case& shape) {
    const AttendProblem values = make_problem(shape);
    run(values);
    ASSERT_TRUE(matches(values));
  });
}

TEST_P(OperationAttend, TouchesNothingOutsideItsViews) {
  using Side = GuardedBuffer::Side;
  for (const Side side : {Side::at_start, Side::at_end}) {
    for (const std::int64_t head_dim : {1, 15, 33, 64}) {
      for (const std::int64_t tokens : {1, 14, 31, 65}) {
        const AttendProblem values(attention_shape(tokens, head_dim, 3, 2), backend_->head_layout(),
                                   0, side);
        run(values);
        ASSERT_TRUE(matches(values));
      }
    }
  }
}

TEST_P(OperationAttend, LeavesThePaddingBetweenRowsAlone) {
  for (const std::int64_t head_dim : {3, 32, 59}) {
    const AttendProblem values(attention_shape(33, head_dim, 3, 2), backend_->head_layout(), 5);
    run(values);
    EXPECT_TRUE(matches(values));
    const auto all = values.out_values();
    EXPECT_EQ(std::count(all.begin(), all.end(), kUntouched),
              static_cast<std::int64_t>(all.size()) - values.shape().rows() * 3 * head_dim);
  }
}

// As the fused formulation lays them out in token-major order: three matrices in one row.
TEST_P(OperationAttend, ReadsQueryKeyAndValueOutOfOneMatrix) {
  const Case shape = attention_shape(65, 40, 3, 2);
  const AttendProblem apart = make_problem(shape);
  run(apart);
  const Activations together(backend_->head_layout(), shape.rows(), 3 * shape.heads,
                             shape.head_dim());
  std::vector<float> storage(static_cast<std::size_t>(together.size()));
  const BlockedView all = together.view(storage.data());
  const BlockedView parts[] = {apart.q(), apart.k(), apart.v()};
  for (std::int64_t r = 0; r < shape.rows(); ++r) {
    for (std::int64_t b = 0; b < all.blocks; ++b) {
      std::copy_n(parts[b / shape.heads].at(r, b % shape.heads), shape.head_dim(), all.at(r, b));
    }
  }
  std::vector<float> out(static_cast<std::size_t>(shape.rows() * shape.d_out));
  const Activations merged(HeadLayout::token_major, shape.rows(), shape.heads, shape.head_dim());
  const std::vector<Sequence> sequences = sequences_of(shape);
  backend_->make_attention(shape)->run(
      {all.slice(0, shape.heads), all.slice(shape.heads, shape.heads),
       all.slice(2 * shape.heads, shape.heads), merged.view(out.data()), sequences});
  EXPECT_TRUE(same_bits(out, apart.out_values()));
}

TEST_P(OperationAttend, RepeatsToTheBit) {
  const AttendProblem values = make_problem(attention_shape(257, 40, 3, 2));
  const auto attention = backend_->make_attention(values.shape());
  attention->run(values.call());
  const std::vector<float> first(values.out_values().begin(), values.out_values().end());
  for (int repeat = 0; repeat < 5; ++repeat) {
    attention->run(values.call());
    ASSERT_TRUE(same_bits(values.out_values(), first));
  }
}

// docs/numerics.md: oneDNN promises its bits from run to run only.
TEST_P(OperationAttend, GivesTheSameForEveryThreadCount) {
  const AttendProblem values = make_problem(attention_shape(130, 40, 3, 2));
  run(values);
  const std::vector<float> first(values.out_values().begin(), values.out_values().end());
  for (const int threads : {1, 3, 4}) {
    run(*make(threads), values);
    ASSERT_TRUE(matches(values)) << threads << " threads";
    if (GetParam().backend == "onednn") continue;
    ASSERT_TRUE(same_bits(values.out_values(), first)) << threads << " threads";
  }
}

TEST_P(OperationAttend, NamesItsCostsAndWhoComputes) {
  const OperationCosts costs = backend_->make_attention(attention_shape(65, 40, 3))->costs();
  EXPECT_GT(costs.workspace_bytes, 0);
  EXPECT_FALSE(costs.provenance.empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, OperationAttend, testing::ValuesIn(operation_cases()),
                         operation_case_name);

}  // namespace
}  // namespace headroom::test::operations_attend_test
