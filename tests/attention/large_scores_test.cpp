// Scores as large as floats are: every finite one has a finite weight.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "headroom/dot_product.hpp"
#include "support/call_shapes.hpp"
#include "support/dot_product_calls.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::large_scores_test {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

class LargeScores : public LayerTest {
 protected:
  /// Of a sum of weighted values, beside the largest of them.
  static double rounding() {
    return GetParam().precision == Precision::bf16     ? 0x1p-6
           : GetParam().precision == Precision::bf16x3 ? 0x1p-13
                                                       : 0x1p-18;
  }
};

/// The keys that a row sees.
std::vector<std::int64_t> seen_keys(const Tensors& of, const RandomCall& c, std::int64_t b,
                                    std::int64_t t, std::int64_t h) {
  const std::int64_t keys = c.keys_of(b);
  const std::int64_t last = c.rule.causal ? keys - c.rows(b) + t : keys - 1;
  const std::int64_t first =
      c.rule.window > 0 ? std::max<std::int64_t>(last + 1 - c.rule.window, 0) : 0;
  std::vector<std::int64_t> seen;
  for (std::int64_t j = first; j <= last; ++j) {
    if (!std::isinf(of.mask.at(b, h, t, j))) seen.push_back(j);
  }
  return seen;
}

/// Weights are at least 0 and their sum is 1, so a row lies between the values that it sees.
/// @param relative, absolute error that a value may have
testing::AssertionResult stays_in_hull(Tensors& of, const RandomCall& c, double relative,
                                       double absolute = 0) {
  for (std::int64_t b = 0; b < c.sizes.batch; ++b) {
    for (std::int64_t t = 0; t < c.rows(b); ++t) {
      for (std::int64_t h = 0; h < c.sizes.heads; ++h) {
        const std::vector<std::int64_t> seen = seen_keys(of, c, b, t, h);
        const std::int64_t key_head = h / (c.sizes.heads / c.kv_heads());
        for (std::int64_t i = 0; i < c.sizes.head_dim; ++i) {
          float least = seen.empty() ? 0 : *of.v.at(b, seen.front(), key_head, i);
          float largest = least;
          for (const std::int64_t j : seen) {
            least = std::min(least, *of.v.at(b, j, key_head, i));
            largest = std::max(largest, *of.v.at(b, j, key_head, i));
          }
          const double found = *of.out.at(b, t, h, i);
          const double slack = absolute + relative * std::max(std::abs(least), std::abs(largest));
          if (found >= least - slack && found <= largest + slack) continue;
          return testing::AssertionFailure()
                 << "row " << t << " of head " << h << " of " << b << ", value " << i << ": "
                 << found << " is not between " << least << " and " << largest;
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

// All cases of a machine with every unit together run some ten thousand calls.
TEST_P(LargeScores, HaveFiniteWeightsInRandomCalls) {
  constexpr std::uint32_t kCalls = 350;
  for (std::uint32_t seed = 1; seed <= kCalls; ++seed) {
    std::mt19937 random(seed);
    RandomCall c = random_case(random);
    c.largest = 1e38F;
    if (c.rule.softcap > 0 && random() % 2 == 0) c.rule.softcap = std::exp2(random() % 120);
    SCOPED_TRACE(describe(c));
    Tensors tensors(c, seed);
    DotProductAttention attention(c.sizes, c.rule, GetParam().options());
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(),
                  {c.queries, c.keys, tensors.mask.view()});
    ASSERT_TRUE(stays_in_hull(tensors, c, rounding())) << "seed " << seed;
  }
}

/// One row of one head of one channel, whose scores are what keys are times `query`.
class OneRow {
 public:
  OneRow(float query, std::vector<float> keys, std::vector<float> values)
      : query_(query), keys_(std::move(keys)), values_(std::move(values)) {}

  float run(const AttentionOptions& options, const ScoreRule& rule = {},
            const std::vector<float>& mask = {}, float sink = 0) const {
    const auto count = static_cast<std::int64_t>(keys_.size());
    float out = -1;
    DotProductCall call;
    if (!mask.empty()) call.mask = {.added = mask.data(), .keys = count};
    if (sink != 0) call.sinks = {&sink, 1};
    attention(token_major(&query_, 1, 1, 1, 1), token_major(keys_.data(), 1, count, 1, 1),
              token_major(values_.data(), 1, count, 1, 1), token_major(&out, 1, 1, 1, 1), rule,
              options, call);
    return out;
  }

 private:
  float query_;
  std::vector<float> keys_, values_;
};

// Numbers that every precision has. Exponents of 2 are these times log2(e), and what rounding
// leaves of those is up to half of their last place: 2^7 from 2^31 on.
TEST_P(LargeScores, LeaveTheWholeWeightToTheLargest) {
  for (const float size :
       {0x1.8p20F, 0x1.8p26F, 0x1.8p31F, 0x1.8p33F, 0x1.8p40F, 0x1.8p100F, 0x1.8p126F}) {
    for (const float sign : {1.0F, -1.0F}) {
      SCOPED_TRACE(sign * size);
      const OneRow alike(sign * size, {1, 1, 1, 1}, {1, 2, 3, 6});
      EXPECT_NEAR(alike.run(GetParam().options()), 3, 6 * rounding());
      const OneRow apart(size, {-1, 0, sign, 0.5F, sign}, {100, 200, 1, 300, 2});
      EXPECT_NEAR(apart.run(GetParam().options()), sign > 0 ? 1.5 : 300, 300 * rounding())
          << "apart";
    }
  }
}

// Beside others a row is one of a tile. Its keys fill blocks and segments whose maxima rise, fall,
// and are the lowest floats.
TEST_P(LargeScores, KeepTheirWeightsFromBlockToBlock) {
  constexpr std::int64_t kKeys = 2600;
  constexpr std::int64_t kRows = 40;
  const auto largest_at = [](std::int64_t row) { return row * 67 % kKeys; };
  for (const float size : {1.0F, 1e5F, 1e10F, 1e38F}) {
    SCOPED_TRACE(size);
    std::vector<float> q(kRows, size), k(kKeys, 1), v, out(kRows, -1), mask;
    for (std::int64_t j = 0; j < kKeys; ++j) v.push_back(static_cast<float>(j % 128));
    std::mt19937 random(3);
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t j = 0; j < kKeys; ++j) {
        const float low = j / 300 % 2 == 0 ? -kLargest : -0x1p120F;
        mask.push_back(j == largest_at(row) ? 0x1p90F : row % 2 == 0 ? low : -low / 0x1p12F);
        if (row % 2 != 0 && j == largest_at(row)) mask.back() = kLargest / 4;
      }
    }
    const MaskView added{
        .added = mask.data(), .queries = kRows, .keys = kKeys, .query_stride = kKeys};
    attention(token_major(q.data(), 1, kRows, 1, 1), token_major(k.data(), 1, kKeys, 1, 1),
              token_major(v.data(), 1, kKeys, 1, 1), token_major(out.data(), 1, kRows, 1, 1), {},
              GetParam().options(), {.mask = added});
    for (std::int64_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(out[static_cast<std::size_t>(row)], v[static_cast<std::size_t>(largest_at(row))])
          << row;
    }
  }
}

TEST_P(LargeScores, OfMasksAreToldApart) {
  const OneRow row(1, {1, 1, 1}, {1, 2, 6});
  const auto with = [&](const std::vector<float>& mask) {
    return row.run(GetParam().options(), {}, mask);
  };
  for (const float all : {3e38F, -3e38F, -kLargest}) {
    EXPECT_NEAR(with({all, all, all}), 3, 6 * rounding()) << all;
  }
  EXPECT_EQ(with({-3e38F, 3e38F, 0}), 2);
  EXPECT_EQ(with({2.5e38F, 3e38F, 2.5e38F}), 2);
  EXPECT_EQ(with({-kLargest, -3e38F, -3.2e38F}), 2);
  EXPECT_EQ(with({0, -3e38F, -std::numeric_limits<float>::infinity()}), 1);
  const float capped = row.run(GetParam().options(), {.softcap = 2}, {3e38F, 2e38F, 3e38F});
  EXPECT_NEAR(capped, 3.5, 6 * rounding());
}

TEST_P(LargeScores, BesideSinks) {
  for (const float score : {1e20F, 1e38F, -1e20F, -1e38F}) {
    for (const float sink : {1e20F, 1e38F, 3e38F, -1e20F, -1e38F, -3e38F}) {
      const float found = OneRow(score, {1, 1}, {2, 4}).run(GetParam().options(), {}, {}, sink);
      if (score == sink) {
        EXPECT_NEAR(found, 2, 4 * rounding()) << score;
      } else {
        EXPECT_NEAR(found, score > sink ? 3 : 0, 4 * rounding()) << score << " beside " << sink;
      }
    }
  }
}

TEST_P(LargeScores, UnderLargeCaps) {
  for (const double cap : {1e4, 1e9, 1e20, 3e38}) {
    for (const float size : {1.0F, 1e8F, 1e30F, 1e38F}) {
      const OneRow row(size, {0, 1, -1, 1}, {40, 1, 50, 2});
      const float found = row.run(GetParam().options(), {.softcap = cap});
      const double e = std::exp(1);
      const double of_1 = (40 + (1 + 2) * e + 50 / e) / (1 + 2 * e + 1 / e);
      EXPECT_NEAR(found, size > 1 ? 1.5 : of_1, 50 * rounding()) << size << " under " << cap;
    }
  }
}

// The layers that the issue names: x near 1e5 makes scores of 1e10 and more.
TEST_P(LargeScores, OfLayersWithLargeInputs) {
  for (const float size : {1e3F, 1e5F, 1e8F}) {
    for (const bool rich : {false, true}) {
      Case shape = rich ? with_everything() : plain_shape(70, 32, 4, 16);
      shape.d_proj = 24;
      Layer layer = gaussian_layer(shape);
      for (float& value : layer.x.values) value *= size;
      const Matrix y = run(GetParam(), layer);
      for (const float value : y.values) ASSERT_TRUE(std::isfinite(value)) << size;
    }
  }
}

// A bias by position is divided by the scale where nothing else is added.
TEST_P(LargeScores, OfBiasesByPosition) {
  for (const float size : {1e20F, 3e38F}) {
    Case shape = plain_shape(70, 32, 4, 16);
    shape.position_bias = {PositionBias::Kind::buckets, 8, 30};
    Layer layer = gaussian_layer(shape);
    std::fill(layer.weights.position_bias.values.begin(), layer.weights.position_bias.values.end(),
              -size);
    const Matrix far = run(GetParam(), layer);
    std::fill(layer.weights.position_bias.values.begin(), layer.weights.position_bias.values.end(),
              size);
    const Matrix near = run(GetParam(), layer);
    for (const Matrix* y : {&far, &near}) {
      for (const float value : y->values) ASSERT_TRUE(std::isfinite(value)) << size;
    }
  }
}

// Keys and values of earlier calls, as they are stored.
TEST_P(LargeScores, OverCaches) {
  for (const std::optional<Storage> stored :
       {std::optional<Storage>(), std::optional(Storage::bf16), std::optional(Storage::q8)}) {
    AttentionOptions options = GetParam().options();
    options.cache_dtype = stored;
    const Numbers numbers{GetParam().precision, Dtype::f32, {}, stored};
    const Target target = select_target(options.isa, options.unit);
    if (!arithmetic_of(GetParam().backend, numbers, target).precision) continue;
    RandomCall c{{1, 150, 150, 4, 2, 32}, {.causal = true}};
    for (const float size : {1e10F, 1e25F, 1e36F}) {
      Tensors tensors(c, 5);
      // Scales of keys in eight bits are fp16.
      tensors.q.each([&](float& value) { value *= size / 1e4F; });
      tensors.k.each([&](float& value) { value *= 1e4F; });
      DotProductAttention attention(c.sizes, c.rule, options);
      attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view());
      // A value in eight bits is off by a 254th of the largest one of its row.
      EXPECT_TRUE(stays_in_hull(tensors, c, 2 * rounding(), 0.05)) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeScores, testing::ValuesIn(backend_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, LargeScores, testing::ValuesIn(precision_cases()), case_name);

}  // namespace
}  // namespace headroom::test::large_scores_test
