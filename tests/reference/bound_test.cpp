// The element bound against its formula (src/suite/reference/element_bound.hpp), and where it
// saturates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headroom/initialise.hpp"
#include "reference/element_bound.hpp"
#include "reference/oracle.hpp"
#include "support/definition.hpp"

namespace headroom::reference::bound_test {
namespace {

using test::Definition;
using test::index;
using test::Layer;
using test::make_shape;
using test::Wide;

constexpr Wide kUnit = 0x1p-24L;

struct Formula {
  Definition layer;

  Wide dot(std::int64_t row, std::int64_t j, std::int64_t head, bool q_size, bool k_size) const {
    const std::int64_t width = layer.shape.head_dim();
    const std::int64_t sequence = layer.seen(row).sequence;
    Wide sum = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      sum += std::abs(layer.query(row, head * width + c, q_size) *
                      layer.key(sequence, j, head, c, k_size));
    }
    return sum / std::sqrt(static_cast<Wide>(width));
  }

  // The d_in of queries, that of keys, and the roundings of turning both to their positions.
  Wide roundings_of_factors() const {
    const Case& shape = layer.shape;
    const bool turned = shape.rotary.pairs != Rotary::Pairs::none;
    return static_cast<Wide>(shape.d_in + layer.weights.key.rows + (turned ? 2 * 3 : 0));
  }

  // t_j: by how much exp(s_j) may be off.
  std::vector<Wide> score_errors(std::int64_t row, std::int64_t head) const {
    const test::Seen seen = layer.seen(row);
    std::vector<Wide> scores;
    for (std::int64_t j = 0; j < seen.keys; ++j) {
      scores.push_back(layer.score(row, seen.first + j, head));
    }
    const Wide c1 =
        4 + std::sqrt(roundings_of_factors() + static_cast<Wide>(layer.shape.head_dim()));
    std::vector<Wide> errors(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::int64_t j = seen.first + static_cast<std::int64_t>(i);
      const Wide logit = (dot(row, j, head, true, false) + dot(row, j, head, false, true)) / 2;
      const Wide largest = *std::max_element(scores.begin(), scores.end());
      errors[i] = kUnit * (c1 * logit + 3 * (largest - scores[i]));
    }
    return errors;
  }

  // What each Va_j counts, all but the output projection's share in it, in units of eps.
  std::vector<Wide> key_weights(std::int64_t row, std::int64_t head) const {
    const std::vector<Wide> p = layer.softmax(row, head);
    const std::vector<Wide> t = score_errors(row, head);
    const std::int64_t key_input = layer.weights.key.rows;
    const Wide c0 = 4 + std::sqrt(static_cast<Wide>(key_input + 8 * layer.seen(row).keys));
    Wide mean = 0;
    for (std::size_t k = 0; k < p.size(); ++k) mean += p[k] * t[k];
    std::vector<Wide> result(p.size());
    for (std::size_t j = 0; j < p.size(); ++j) {
      Wide change = (1 - p[j]) * std::expm1(t[j]);
      for (std::size_t k = 0; k < p.size(); ++k) {
        if (k != j) change += p[k] * std::expm1(t[k]);
      }
      result[j] = p[j] * (c0 + change * std::exp(mean) / (2 * kUnit)) + 0x1p-125L / (2 * kUnit);
    }
    return result;
  }

  std::vector<Wide> bound(std::int64_t row) const {
    const Case& shape = layer.shape;
    const Wide c2 = shape.d_proj > 0 ? 4 + 2 * std::sqrt(static_cast<Wide>(shape.d_out)) : 0;
    const test::Seen seen = layer.seen(row);
    std::vector<Wide> merged(index(shape.d_out));
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<Wide> weights = key_weights(row, head);
      const std::vector<Wide> p = layer.softmax(row, head);
      const std::vector<float> kept = layer.dropout(row, head);
      for (std::int64_t c = 0; c < shape.head_dim(); ++c) {
        for (std::size_t i = 0; i < p.size(); ++i) {
          const std::int64_t j = seen.first + static_cast<std::int64_t>(i);
          merged[index(head * shape.head_dim() + c)] +=
              static_cast<Wide>(kept[i]) * (weights[i] + c2 * p[i]) *
              layer.value(seen.sequence, j, head, c, true);
        }
      }
    }
    std::vector<Wide> result = layer.output(merged, true, c2);
    for (Wide& each : result) each *= 2 * kUnit;
    return result;
  }
};

TEST(ElementBound, IsItsFormula) {
  for (const Case& shape : test::all_variants()) {
    SCOPED_TRACE(shape.id());
    const Layer layer = test::gaussian_layer(shape, 1);
    const Expected expected = attention(shape, layer.weights, layer.inputs(), all_rows(shape), 2);
    const Formula formula{Definition(layer)};
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const std::vector<Wide> bound = formula.bound(row);
      for (std::size_t c = 0; c < bound.size(); ++c) {
        // Where t is small the oracle takes t + t^2 for exp(t) - 1.
        const double value = expected.bound[index(row) * bound.size() + c];
        ASSERT_NEAR(value, static_cast<double>(bound[c]), 1e-4 * value);
      }
    }
  }
}

// Scores that float cannot tell apart: all that is known is that the result lies among the values.
TEST(ElementBound, SaturatesWhereLogitsAreBeyondFloat) {
  const Case shape = make_shape(1, 8, 4, 4, 1, 0);
  Layer layer = test::gaussian_layer(shape, 1);
  for (float& value : layer.x.values) value *= 1e6F;
  const Expected expected = attention(shape, layer.weights, layer.inputs(), all_rows(shape), 1);
  const Definition definition(layer);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    for (std::int64_t c = 0; c < shape.d_out; ++c) {
      Wide sum = 0;
      for (std::int64_t j = 0; j < shape.tokens; ++j) sum += definition.value(0, j, 0, c, true);
      ASSERT_GT(expected.bound[index(row * 4 + c)], 0);
      ASSERT_LT(expected.bound[index(row * 4 + c)], static_cast<double>(1.001L * sum));
    }
  }
}

// The first row of a causal layer has one weight, which is 1 whatever its score.
TEST(ElementBound, CountsNoScoreWhereThereIsNoRival) {
  const Case shape = make_shape(1, 2, 64, 32, 1, 0);
  SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  const Expected usual = attention(shape, weights, x.view(), {0}, 1);
  for (float& w : weights.query.values) w *= 1000;
  EXPECT_EQ(attention(shape, weights, x.view(), {0}, 1).bound, usual.bound);
  EXPECT_EQ(usual.bound.size(), 32U);
}

// Row 1 sees scores 0 and 400 over values 1 and 0: in float the result is 0.
TEST(ElementBound, LeavesRoomForWeightsThatBecomeZero) {
  Case shape = make_shape(1, 2, 2, 1, 1, 0);
  SplitWeights weights = gaussian_weights(shape, 1);
  weights.query.values = weights.key.values = {1, 0};
  weights.value.values = {0, 1};
  Matrix x(2, 2);
  x.values = {0, 1, 20, 0};
  const Expected expected = attention(shape, weights, x.view(), {1}, 1);
  EXPECT_GT(expected.y[0], 0);
  EXPECT_GE(expected.bound[0], 0x1p-125);
  EXPECT_LT(expected.bound[0], 0x1.01p-125);
}

}  // namespace
}  // namespace headroom::reference::bound_test
