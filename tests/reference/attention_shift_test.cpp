// What rounding moves within the attention weights, against the definition.
#include "reference/attention_shift.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "headroom/initialise.hpp"
#include "reference/intermediates.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference::attention_shift_test {
namespace {

using Rows = std::vector<std::vector<float>>;

Expected with(Rows rows) {
  Expected expected;
  expected.attention_weights = std::move(rows);
  return expected;
}

Case of_heads(std::int64_t heads, bool sinks = false) {
  Case shape;
  shape.heads = heads;
  shape.sinks = sinks;
  return shape;
}

double term(double p, double q) { return p * std::log(p / q); }

TEST(AttentionShift, CountsRowsOfHeadsWhoseLargestWeightIsAnotherKeys) {
  const Expected before = with({{1, 1}, {0.25F, 0.75F, 0.5F, 0.5F}});
  const Expected after = with({{1, 1}, {0.75F, 0.25F, 0.5F, 0.5F}});
  const auto shift = attention_shift(of_heads(2), before, after);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->moved, 0.25);
  EXPECT_NEAR(shift->divergence, (term(0.25, 0.75) + term(0.75, 0.25)) / 4, 1e-12);
}

TEST(AttentionShift, IsOfTheStoredWeightsFromTheUnroundedOnes) {
  const Expected before = with({{0.5F, 0.5F}});
  const Expected after = with({{0.125F, 0.875F}});
  const double there = attention_shift(of_heads(1), before, after)->divergence;
  const double back = attention_shift(of_heads(1), after, before)->divergence;
  EXPECT_NEAR(there, term(0.5, 0.125) + term(0.5, 0.875), 1e-12);
  EXPECT_NEAR(back, term(0.125, 0.5) + term(0.875, 0.5), 1e-12);
}

TEST(AttentionShift, ASinkIsOneMoreOutcomeAndNoKey) {
  const Expected before = with({{0.25F, 0.125F, 0.625F}});
  const Expected after = with({{0.5F, 0.125F, 0.375F}});
  const auto shift = attention_shift(of_heads(1, true), before, after);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->moved, 0);
  EXPECT_NEAR(shift->divergence, term(0.25, 0.5) + term(0.625, 0.375), 1e-12);
}

TEST(AttentionShift, IsNothingWhereNoRowHasAChoice) {
  EXPECT_FALSE(attention_shift(of_heads(2), with({{1, 1}, {}}), with({{1, 1}, {}})));
  EXPECT_FALSE(attention_shift(of_heads(1, true), with({{0.5F, 0.5F}}), with({{0.25F, 0.75F}})));
  EXPECT_FALSE(attention_shift(of_heads(1), with({}), with({})));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(attention_shift(of_heads(1), with({{nan, nan}}), with({{0.5F, 0.5F}})));
}

TEST(AttentionShift, OfAWeightThatUnderflowsIsFinite) {
  const auto shift = attention_shift(of_heads(1), with({{0.5F, 0.5F}}), with({{0, 1}}));
  ASSERT_TRUE(shift.has_value());
  EXPECT_GT(shift->divergence, 40);
  EXPECT_LT(shift->divergence, 45);
}

Case layer_shape() {
  Case shape;
  shape.tokens = 7;
  shape.past = 5;
  shape.d_in = shape.d_proj = 12;
  shape.d_out = 24;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.window = 6;
  return shape;
}

struct Call {
  explicit Call(const Case& of)
      : shape(of),
        weights(gaussian_weights(shape, 1)),
        x(gaussian_input(shape.rows(), shape, 2)),
        past(gaussian_past(shape.batch * shape.past, shape, 2)) {}

  Expected expect(const std::vector<std::int64_t>& rows, bool rounds_cache = false) const {
    Inputs inputs{.x = x.view(), .past = past.view()};
    inputs.rounds_cache = rounds_cache;
    return attention(shape, weights, inputs, rows, 2, Keep::attention_weights);
  }

  Case shape;
  SplitWeights weights;
  Matrix x, past;
};

// Without blocks that are rounded, a cache in eight bits leaves the keys; it takes the direct
// order.
TEST(KeptWeights, AreThoseOfTheDefinitionInBothOrders) {
  for (const bool sinks : {false, true}) {
    Case shape = layer_shape();
    shape.sinks = sinks;
    const Call call(shape);
    // Of one row the factored order is less work.
    const Expected factored = call.expect({6});
    const Expected direct = call.expect(all_rows(shape), true);
    ASSERT_EQ(direct.attention_weights.size(), 7U);
    const std::vector<float>& one = factored.attention_weights.at(0);
    const std::vector<float>& other = direct.attention_weights.at(6);
    const std::size_t width = 6 + (sinks ? 1 : 0);
    ASSERT_EQ(one.size(), 4 * width);
    ASSERT_EQ(other.size(), 4 * width);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-7) << i;
    for (auto head = one.begin(); head != one.end(); head += static_cast<std::ptrdiff_t>(width)) {
      const auto end = head + static_cast<std::ptrdiff_t>(width);
      EXPECT_NEAR(std::accumulate(head, end, 0.0), 1, 1e-6) << "the sink's share included";
      EXPECT_EQ(*(end - 1) == 0, false);
    }
  }
  const Case shape = layer_shape();
  const Call call(shape);
  EXPECT_TRUE(attention(shape, call.weights, Inputs{.x = call.x.view(), .past = call.past.view()},
                        all_rows(shape), 1)
                  .attention_weights.empty());
}

// 256 heads and 1,024 keys: of 192 rows every third.
TEST(KeptWeights, OfManySmallHeadsAreThoseOfSomeRows) {
  Case shape;
  shape.heads = shape.d_out = 256;
  shape.tokens = 192;
  shape.past = 832;
  const Matrix q = uniform_matrices(shape.tokens, 256, 1, 1).front();
  const Matrix k = uniform_matrices(shape.context(), 256, 1, 2).front();
  const Expected kept =
      attention(shape, {}, Inputs{.x = q.view(), .key = k.view(), .value = k.view()},
                all_rows(shape), 2, Keep::attention_weights);
  for (std::size_t row = 0; row < 192; ++row) {
    EXPECT_EQ(kept.attention_weights[row].empty(), row % 3 != 0) << row;
  }
  const auto shift = attention_shift(shape, kept, kept);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->moved, 0);
  EXPECT_EQ(shift->divergence, 0);
}

}  // namespace
}  // namespace headroom::reference::attention_shift_test
