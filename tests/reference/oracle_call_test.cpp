// The oracle for calls that are more than equal sequences from their start: what came before,
// windows, groups of heads, lengths, a second input. Against other ways to say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "reference/oracle.hpp"
#include "reference/oracle_cost.hpp"
#include "support/definition.hpp"
#include "support/layer_data.hpp"

namespace headroom::reference::oracle_call_test {
namespace {

using test::gaussian_layer;
using test::index;
using test::Layer;
using test::make_shape;
using test::oracle;

// Rows of the end of one pass are those of a call after the others.
TEST(OracleCall, TokensThatCameBeforeAreLikeRows) {
  for (Case shape : test::call_variants()) {
    if (!shape.causal || !shape.lengths.empty() || shape.past == 0) continue;
    SCOPED_TRACE(shape.id());
    shape.batch = 1;
    Layer later = gaussian_layer(shape, 1);
    Layer whole = later;
    whole.shape.past = 0;
    whole.shape.tokens += shape.past;
    whole.x = Matrix(whole.shape.tokens, shape.d_in);
    std::copy(later.past.values.begin(), later.past.values.end(), whole.x.values.begin());
    std::copy(later.x.values.begin(), later.x.values.end(),
              whole.x.values.end() - std::ssize(later.x.values));
    whole.past = {};
    const Expected expected = oracle(whole, 2);
    const Expected found = oracle(later, 2);
    ASSERT_FALSE(found.y.empty());
    for (std::size_t i = 0; i < found.y.size(); ++i) {
      const std::size_t at = expected.y.size() - found.y.size() + i;
      ASSERT_NEAR(found.y[i], expected.y[at], 1e-8 * expected.bound[at]);
    }
  }
}

TEST(OracleCall, GroupedHeadsAreHeadsWithCopies) {
  Case shape = make_shape(2, 9, 7, 24, 6, 5);
  shape.kv_heads = 2;
  shape.qkv_bias = true;
  const Layer grouped = gaussian_layer(shape, 1);
  Layer copies = grouped;
  copies.shape.kv_heads = 0;
  copies.weights = to_split(copies.shape, to_per_head(shape, grouped.weights));
  EXPECT_EQ(oracle(copies, 2).y, oracle(grouped, 2).y);
}

TEST(OracleCall, AWindowOfAllKeysIsNone) {
  Case shape = make_shape(2, 9, 7, 12, 3, 5);
  shape.past = 4;
  shape.dropout = 0.3;
  Layer layer = gaussian_layer(shape, 1);
  const Expected all = oracle(layer, 2);
  layer.shape.window = 13;
  EXPECT_EQ(oracle(layer, 2).y, all.y);
  layer.shape.window = 12;
  EXPECT_NE(oracle(layer, 2).y, all.y) << "the last row sees one key less";
}

// More sequences than one group holds, some of them empty.
TEST(OracleCall, RaggedSequencesEqualSequencesApart) {
  for (const bool causal : {true, false}) {
    Case single = make_shape(1, 5, 4, 4, 2, 0);
    single.causal = causal;
    single.past = 2;
    Case shape = single;
    shape.batch = 400;
    for (std::int64_t s = 0; s < shape.batch; ++s) shape.lengths.push_back(s * 7 % 6);
    const Layer ragged = gaussian_layer(shape, 1);
    const Expected all = oracle(ragged, 2);
    std::int64_t row = 0;
    for (std::int64_t s = 0; s < shape.batch; ++s, row += single.tokens) {
      single.tokens = shape.length(s);
      const Inputs inputs{.x = {ragged.x.view().row(row), single.tokens, 4, 4},
                          .past = {ragged.past.view().row(s * 2), 2, 4, 4}};
      const Expected one = attention(single, ragged.weights, inputs, all_rows(single), 1);
      for (std::size_t i = 0; i < one.y.size(); ++i) {
        ASSERT_EQ(one.y[i], all.y[index(row) * 4 + i]) << s;
      }
    }
  }
}

TEST(OracleCall, AnEmptySecondInputGivesTheBias) {
  Case shape = make_shape(1, 2, 4, 4, 1, 3);
  shape.causal = false;
  shape.d_memory = 5;
  const Layer layer = gaussian_layer(shape, 1);
  const Expected expected = oracle(layer, 2);
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_EQ(expected.y[c], static_cast<double>(layer.weights.output_bias[c % 3]));
  }
}

// A NaN among the tokens that came before reaches the rows whose window holds it, in its sequence.
TEST(OracleCall, NanBeforeTheWindowDoesNotLeak) {
  Case shape = make_shape(2, 6, 7, 6, 2, 4);
  shape.past = 5;
  shape.window = 4;
  Layer layer = gaussian_layer(shape, 1);
  layer.past.view().row(3)[2] = std::numeric_limits<float>::quiet_NaN();
  const Expected expected = oracle(layer, 2);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const bool sees = row < 2;  // position 5 sees keys from 2 on, 6 from 3 on
    ASSERT_EQ(std::isnan(expected.y[index(row * expected.width)]), sees) << row;
  }
}

TEST(OracleCall, RefusesAnotherPastOrSecondInput) {
  Case shape = make_shape(2, 4, 4, 4, 1, 0);
  shape.causal = false;
  shape.past = 3;
  shape.d_memory = 5;
  shape.memory_tokens = 2;
  const Layer layer = gaussian_layer(shape, 1);
  EXPECT_EQ(oracle(layer, 2).rows.size(), 8U);
  const auto refusal = [&](const Inputs& inputs) -> std::string {
    try {
      attention(shape, layer.weights, inputs, {0}, 1);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  Inputs inputs = layer.inputs();
  inputs.past.rows = 5;
  EXPECT_NE(refusal(inputs).find("past is 5 x 5"), std::string::npos) << refusal(inputs);
  inputs = layer.inputs();
  inputs.past.cols = 4;
  EXPECT_NE(refusal(inputs).find("past is 6 x 4"), std::string::npos) << refusal(inputs);
  inputs = layer.inputs();
  inputs.memory = {};
  EXPECT_NE(refusal(inputs).find("memory is 0 x 0"), std::string::npos) << refusal(inputs);
}

TEST(AffordableRowsOfACall, AreRowsOfRaggedSequences) {
  Case shape = make_shape(5, 900, 4096, 4096, 32, 4096);
  shape.lengths = {0, 1, 900, 0, 30};
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    for (const std::int64_t row : affordable_rows(shape, 1, seed)) seen.insert(row);
  }
  EXPECT_EQ(seen.size(), 931U);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 930);
}

// A window hides what came before it, so it costs nothing.
TEST(AffordableRowsOfACall, AreMoreBehindAWindow) {
  Case shape = make_shape(1, 512, 1024, 1024, 8, 1024);
  shape.past = 30'000;
  shape.rotary.pairs = Rotary::Pairs::halves;  // so that keys must be projected
  const std::size_t all = affordable_rows(shape, 1e11, 1).size();
  shape.window = 64;
  const std::size_t windowed = affordable_rows(shape, 1e11, 1).size();
  EXPECT_LT(all, 512U);
  EXPECT_EQ(windowed, 512U);
}

}  // namespace
}  // namespace headroom::reference::oracle_call_test
