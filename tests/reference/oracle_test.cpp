#include "reference/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "reference/oracle_cost.hpp"
#include "support/definition.hpp"
#include "support/layer_data.hpp"

namespace headroom::reference::oracle_test {
namespace {

using test::gaussian_layer;
using test::index;
using test::Layer;
using test::make_shape;
using test::oracle;
using test::variants;

Expected run_rows(const Layer& layer, const std::vector<std::int64_t>& rows) {
  return attention(layer.shape, layer.weights, layer.inputs(), rows, 1);
}

TEST(Oracle, AgreesWithTheDefinitionInLongDouble) {
  for (const Case& shape : test::all_variants()) {
    SCOPED_TRACE(shape.id());
    const Layer layer = gaussian_layer(shape, 1);
    test::expect_the_definition(layer, oracle(layer, 2));
  }
}

// ---- Both orders of evaluation.

void expect_both_orders_agree(const Layer& layer, const std::vector<std::int64_t>& rows) {
  const Expected all = oracle(layer);
  for (const std::int64_t row : rows) {
    const Expected one = run_rows(layer, {row});
    ASSERT_TRUE(takes_direct_order(layer.shape, all_rows(layer.shape)));
    ASSERT_FALSE(takes_direct_order(layer.shape, {row}));
    for (std::int64_t c = 0; c < one.width; ++c) {
      const std::size_t at = index(row * one.width + c);
      ASSERT_NEAR(one.y[index(c)], all.y[at], 1e-6 * all.bound[at]);
      // The factored order has no k, but what bounds it.
      ASSERT_GE(one.bound[index(c)], all.bound[at] * (1 - 1e-12));
      ASSERT_LE(one.bound[index(c)], all.bound[at] * 10);
    }
  }
}

TEST(Oracle, BothOrdersAgree) {
  for (Case shape : variants()) {
    shape.tokens = 67;  // enough that a single row is cheaper without all keys and values
    if (shape.d_in < 7) continue;
    SCOPED_TRACE(shape.id());
    expect_both_orders_agree(gaussian_layer(shape, 1), {0, 40, shape.rows() - 1});
  }
}

TEST(Oracle, BothOrdersAgreeForCalls) {
  for (Case shape : test::call_variants()) {
    if (shape.rotary.pairs != Rotary::Pairs::none) continue;
    (shape.d_memory > 0 ? shape.memory_tokens : shape.past) += 300;
    if (shape.window > 1) shape.window += 300;
    if (shape.window == 1) continue;  // a key is all there is
    SCOPED_TRACE(shape.id());
    expect_both_orders_agree(gaussian_layer(shape, 1), {0, 1, shape.rows() - 1});
  }
}

TEST(Oracle, RotaryPositionsHaveNoFactoredOrder) {
  Case shape = make_shape(1, 1, 512, 512, 8, 512);
  shape.past = 100'000;
  EXPECT_FALSE(takes_direct_order(shape, {0}));
  shape.rotary.pairs = Rotary::Pairs::halves;
  EXPECT_TRUE(takes_direct_order(shape, {0}));
}

TEST(Oracle, SameBitsForEveryThreadCountAndSelection) {
  const Case shape = make_shape(3, 50, 8, 8, 2, 8);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  const Expected all = attention(shape, weights, x.view(), all_rows(shape), 1);
  EXPECT_EQ(attention(shape, weights, x.view(), all_rows(shape), 3).y, all.y);
  std::vector<std::int64_t> half;
  for (std::int64_t row = 1; row < shape.rows(); row += 2) half.push_back(row);
  const Expected some = attention(shape, weights, x.view(), half, 2);
  ASSERT_TRUE(direct_is_cheaper(shape, half));
  for (std::size_t i = 0; i < half.size(); ++i) {
    for (std::size_t c = 0; c < 8; ++c) {
      ASSERT_EQ(some.y[i * 8 + c], all.y[index(half[i]) * 8 + c]);
    }
  }
}

// More tokens than one group holds, in short sequences.
TEST(Oracle, BatchesEqualSequencesApart) {
  const Case shape = make_shape(700, 3, 4, 4, 2, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  const Expected all = attention(shape, weights, x.view(), all_rows(shape), 2);
  Case single = shape;
  single.batch = 1;
  for (const std::int64_t b : {0, 340, 341, 342, 699}) {
    const ConstMatrixView part{x.view().row(b * 3), 3, 4, 4};
    const Expected one = attention(single, weights, part, all_rows(single), 1);
    for (std::size_t i = 0; i < one.y.size(); ++i) {
      ASSERT_EQ(one.y[i], all.y[index(b) * one.y.size() + i]) << b;
    }
  }
}

TEST(Oracle, ReadsStridedRows) {
  const Case shape = make_shape(1, 9, 5, 6, 2, 3);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  std::vector<float> wide(9 * 8, std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t r = 0; r < 9; ++r) std::copy_n(x.view().row(r), 5, wide.data() + r * 8);
  const Expected expected = attention(shape, weights, x.view(), all_rows(shape), 1);
  EXPECT_EQ(attention(shape, weights, ConstMatrixView{wide.data(), 9, 5, 8}, all_rows(shape), 1).y,
            expected.y);
}

// ---- NaN goes where the definition sends it.

TEST(Oracle, MaskedNanDoesNotLeakAndSeenNanDoes) {
  for (const std::int64_t tokens : {12, 90}) {  // 90: single rows take the factored order
    Case shape = make_shape(2, tokens, 7, 6, 2, 4);
    const SplitWeights weights = gaussian_weights(shape, 1);
    Matrix x = gaussian_input(shape.rows(), shape, 2);
    const Expected clean = attention(shape, weights, x.view(), all_rows(shape), 1);
    const std::int64_t bad = 5;
    x.view().row(bad)[3] = std::numeric_limits<float>::quiet_NaN();
    const Expected all = attention(shape, weights, x.view(), all_rows(shape), 1);
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const bool sees = row >= bad && row < tokens;
      const Expected one = attention(shape, weights, x.view(), {row}, 1);
      for (std::int64_t c = 0; c < all.width; ++c) {
        const std::size_t at = index(row * all.width + c);
        ASSERT_EQ(std::isnan(all.y[at]), sees) << row;
        ASSERT_EQ(std::isnan(one.y[index(c)]), sees) << row;
        if (!sees) {
          ASSERT_EQ(all.y[at], clean.y[at]);
        }
      }
    }
  }
}

TEST(Oracle, LargeScoresDoNotOverflow) {
  const Case shape = make_shape(1, 8, 4, 4, 1, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  Matrix x = gaussian_input(shape.rows(), shape, 2);
  for (float& value : x.values) value *= 1e4F;
  for (const double y : attention(shape, weights, x.view(), all_rows(shape), 1).y) {
    ASSERT_TRUE(std::isfinite(y));
  }
}

// ---- Requests.

TEST(Oracle, NoTokensAreNoWork) {
  for (const auto& [batch, tokens] : {std::pair{0, 5}, std::pair{5, 0}}) {
    const Case shape = make_shape(batch, tokens, 4, 4, 1, 4);
    const Expected expected = attention(shape, gaussian_weights(shape, 1),
                                        ConstMatrixView{nullptr, 0, 4, 4}, all_rows(shape), 2);
    EXPECT_TRUE(expected.y.empty());
    EXPECT_TRUE(affordable_rows(shape, 1e9, 1).empty());
  }
}

TEST(Oracle, RefusesWhatItCannotRead) {
  const Case shape = make_shape(1, 4, 4, 4, 1, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  EXPECT_THROW(attention(shape, weights, x.view(), {4}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {-1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {2, 1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {1, 1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, ConstMatrixView{x.values.data(), 3, 4, 4}, {0}, 1),
               InvalidArgument);
  EXPECT_THROW(attention(shape, weights, ConstMatrixView{x.values.data(), 4, 4, 3}, {0}, 1),
               InvalidArgument);
  EXPECT_THROW(attention(shape, weights, ConstMatrixView{nullptr, 4, 4, 4}, {0}, 1),
               InvalidArgument);
  EXPECT_THROW(attention(shape, SplitWeights{}, x.view(), {0}, 1), InvalidArgument);
}

TEST(AffordableRows, AreAllIfAllAreCheap) {
  const Case shape = make_shape(2, 10, 4, 4, 1, 4);
  EXPECT_EQ(affordable_rows(shape, 1e9, 1), all_rows(shape));
}

const Case kLarge = make_shape(2, 1024, 12288, 12288, 96, 12288);

TEST(AffordableRows, HaveTheFirstAndTheLastAndEachOnce) {
  EXPECT_EQ(affordable_rows(kLarge, 1, 1).size(), 4U);
  const auto more = affordable_rows(kLarge, 1e11, 1);
  EXPECT_GT(more.size(), 4U);
  EXPECT_LT(more.size(), 200U);
  for (const auto& rows : {affordable_rows(kLarge, 1, 1), more}) {
    EXPECT_EQ(rows.front(), 0);
    EXPECT_EQ(rows.back(), 2047);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  }
}

// Over the seeds every row is checked now and then, so that no error has a place to hide.
TEST(AffordableRows, ReachEveryRowOverTheSeeds) {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    for (const std::int64_t row : affordable_rows(kLarge, 1e11, seed)) seen.insert(row);
  }
  EXPECT_EQ(seen.size(), 2048U);
  EXPECT_EQ(affordable_rows(kLarge, 1e11, 7), affordable_rows(kLarge, 1e11, 7));
  EXPECT_NE(affordable_rows(kLarge, 1e11, 7), affordable_rows(kLarge, 1e11, 8));
}

// Counted over the seeds, against what rows that lie anywhere would give.
TEST(AffordableRows, LieMoreOftenAtEdges) {
  std::size_t all = 0, ends = 0, edges = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const std::int64_t row : affordable_rows(kLarge, 1e11, seed)) {
      ++all;
      if (row == 1023 || row == 1024) ++ends;
      const std::int64_t beside = (row + 1) % 16;
      if (beside <= 2) ++edges;
    }
  }
  EXPECT_GE(ends, 200U) << "the inner ends of the two sequences, once a sample at least";
  EXPECT_GT(edges * 16, all * 3 * 3 / 2) << "half as often again as by chance";
}

TEST(AffordableRows, NeverExceedTheShape) {
  for (const std::int64_t tokens : {1, 2, 3, 4}) {
    const Case shape = make_shape(1, tokens, 4096, 4096, 1, 0);
    EXPECT_EQ(affordable_rows(shape, 1, 1), all_rows(shape));
  }
}

}  // namespace
}  // namespace headroom::reference::oracle_test
