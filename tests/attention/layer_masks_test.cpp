// Masks that a call of a layer brings: against the oracle, which has its own definition of them,
// and through every way in which a row is reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "reference/oracle.hpp"
#include "support/call_shapes.hpp"
#include "support/dot_product_calls.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::layer_masks_test {
namespace {

constexpr std::int64_t kTokens = 43;

// What a mask may meet: groups, windows, what a layer adds by position, caps, sinks, gates, latents
// and a second input.
std::vector<Case> masked_shapes() {
  Case plain = plain_shape(kTokens, 20, 3, 8);
  plain.batch = 2;
  Case rich = with_everything();
  rich.tokens = kTokens;
  rich.batch = 2;
  Case biased = plain;
  biased.position_bias.kind = PositionBias::Kind::slopes;
  biased.sinks = true;
  biased.softcap = 1.5;
  biased.d_proj = 12;
  biased.gate = true;
  Case latent = plain;
  latent.heads = 4;
  latent.d_out = 32;
  latent.latent.rank = 10;
  latent.latent.shared = 4;
  latent.rotary.pairs = Rotary::Pairs::halves;
  latent.position_bias = {PositionBias::Kind::buckets, 8, 30};
  Case open = plain;
  open.causal = false;
  Case cross = open;
  cross.d_memory = 9;
  cross.memory_tokens = 21;
  return {plain, rich, biased, latent, open, cross};
}

Mask draw_mask(RandomCall of, const DotProductSizes& sizes, std::uint32_t seed) {
  of.sizes = sizes;
  std::mt19937 random(seed);
  return {of, random};
}

std::vector<RandomCall> kinds_and_directions() {
  std::vector<RandomCall> all;
  for (const MaskKind kind : {MaskKind::added, MaskKind::added_bf16, MaskKind::seen}) {
    for (const int which : {0, 7, 15, 4 + 1, 4 + 2, 8 + 2}) {
      RandomCall of;
      of.mask = kind;
      of.mask_batch = (which & 1) != 0;
      of.mask_heads = (which & 2) != 0;
      of.mask_queries = (which & 4) != 0;
      of.mask_keys = which != 7;
      of.mask_gap = (which & 8) != 0 ? 1 : 0;
      all.push_back(of);
    }
  }
  return all;
}

reference::Expected expected_of(const Layer& layer, const Mask& mask) {
  reference::Inputs inputs = layer.inputs();
  inputs.mask = [&](auto... at) { return mask.at(at...); };
  return reference::attention(layer.shape, layer.weights, inputs, reference::all_rows(layer.shape),
                              1);
}

class LayerMasks : public LayerTest {};

TEST_P(LayerMasks, AddToScoresAndHideKeysAsTheOracleSays) {
  std::uint32_t seed = 1;
  for (const Case& shape : masked_shapes()) {
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    const std::int64_t keys = shape.d_memory > 0 ? shape.memory_tokens : shape.tokens;
    for (const RandomCall& of : kinds_and_directions()) {
      const Mask mask = draw_mask(of, {shape.batch, shape.tokens, keys, shape.heads, 0, 1}, ++seed);
      Matrix y(shape.rows(), shape.output_width());
      attention.forward(layer.x.view(), y.view(),
                        {.memory = layer.memory.view(), .mask = mask.view()});
      const reference::Comparison found =
          reference::compare(expected_of(layer, mask), y.view(), reference::Data::adversarial);
      EXPECT_TRUE(found.passed) << shape.id() << ", " << describe(of) << ": " << found.reason;
    }
  }
}

// Row `t` of the whole sequence and key `j`, for all heads.
std::vector<float> drawn_square(std::int64_t tokens) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> square(static_cast<std::size_t>(tokens * tokens));
  for (float& value : square) {
    value = random() % 3 == 0 ? -std::numeric_limits<float>::infinity() : normal(random);
  }
  return square;
}

// Rows from `first` on and the keys up to theirs.
MaskView rows_of_square(const std::vector<float>& square, std::int64_t tokens, std::int64_t first,
                        std::int64_t count) {
  return {.added = square.data() + first * tokens,
          .queries = count,
          .keys = first + count,
          .query_stride = tokens};
}

// Latents are multiplied in another order by steps.
testing::AssertionResult equal_rows(const LayerCase& who, const Case& shape, ConstMatrixView a,
                                    ConstMatrixView b) {
  return shape.is_latent() ? agree(a, b) : equal_for(who, a, b);
}

TEST_P(LayerMasks, ChunksAndStepsHaveTheirOwnRowsOfIt) {
  const std::vector<float> square = drawn_square(kTokens);
  for (Case shape : masked_shapes()) {
    if (!shape.causal) continue;
    shape.batch = 1;
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    Matrix expected(kTokens, shape.output_width());
    attention.forward(layer.x.view(), expected.view(),
                      {.mask = rows_of_square(square, kTokens, 0, kTokens)});
    // After 34 tokens six rows see two vectors of any level's keys, all of them.
    for (const std::int64_t first : {19, 34}) {
      KeyValueCache cache(attention, {1, kTokens});
      Matrix y(kTokens, shape.output_width());
      for (std::int64_t done = 0; done < kTokens;) {
        const std::int64_t count = done == 0 ? first : done + 6 < kTokens ? 6 : 1;
        attention.forward(rows(layer.x, done, count), rows_of(y, done, count),
                          {.cache = &cache, .mask = rows_of_square(square, kTokens, done, count)});
        done += count;
      }
      EXPECT_TRUE(equal_rows(GetParam(), shape, y.view(), expected.view()))
          << shape.id() << " after " << first;
    }
  }
}

// They are computed a few rows at a time.
TEST_P(LayerMasks, LongStepsOverLatentsHaveAllTheirRowsOfIt) {
  constexpr std::int64_t kLong = 90, kFirst = 9;
  const std::vector<float> square = drawn_square(kLong);
  Case shape = masked_shapes()[3];
  shape.batch = 1;
  shape.tokens = kLong;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  Matrix expected(kLong, shape.output_width());
  attention.forward(layer.x.view(), expected.view(),
                    {.mask = rows_of_square(square, kLong, 0, kLong)});
  KeyValueCache cache(attention, {1, kLong});
  Matrix y(kLong, shape.output_width());
  for (const auto& [first, count] :
       {std::pair{std::int64_t{0}, kFirst}, std::pair{kFirst, kLong - kFirst}}) {
    attention.forward(rows(layer.x, first, count), rows_of(y, first, count),
                      {.cache = &cache, .mask = rows_of_square(square, kLong, first, count)});
  }
  EXPECT_TRUE(agree(y, expected));
}

// A prompt of three sequences, and a step of theirs, each of which is alone what it is here.
TEST_P(LayerMasks, StandWithThePadding) {
  constexpr std::int64_t kPadded = 12;
  for (Case shape : masked_shapes()) {
    if (!shape.causal) continue;
    shape.batch = 3;
    shape.tokens = kPadded;
    shape.window = 0;
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    for (const bool before : {false, true}) {
      KeyValueCache cache(attention, {3, 20});
      std::vector<std::int64_t> past{0, 0, 0};
      for (const Lengths& lengths : {Lengths{5, 0, 9}, Lengths{1, 1, 1}, Lengths{2, 12, 0}}) {
        const std::int64_t padded = lengths.front() == 1 ? 1 : kPadded;
        const std::int64_t keys = *std::max_element(past.begin(), past.end()) + padded;
        RandomCall of;
        of.mask = MaskKind::added;
        of.mask_batch = of.mask_heads = of.mask_queries = true;
        const Mask mask = draw_mask(of, {3, padded, keys, shape.heads, 0, 1}, 77);
        Matrix y(3 * padded, shape.output_width());
        attention.forward(rows(layer.x, 0, 3 * padded), y.view(),
                          {.lengths = lengths,
                           .padded_tokens = padded,
                           .padded_before = before,
                           .cache = &cache,
                           .mask = mask.view()});
        for (std::int64_t s = 0; s < 3; ++s) {
          const std::int64_t length = lengths[static_cast<std::size_t>(s)];
          std::int64_t& came = past[static_cast<std::size_t>(s)];
          MaskView own = mask.view();
          const std::int64_t row = before ? padded - length : 0;
          own.added += s * own.batch_stride + row * own.query_stride +
                       (before ? keys - came - length : 0) * own.key_stride;
          own.batch = 1;
          own.queries = length;
          own.keys = came + length;
          KeyValueCache alone(attention, {1, 20});
          cache.truncate({s, came});
          alone.take(cache, std::vector<std::int64_t>{s});
          Matrix expected(length, shape.output_width());
          const ConstMatrixView x = rows(layer.x, s * padded + row, length);
          const Lengths lengths_of_one{length};
          attention.forward(x, expected.view(),
                            {.lengths = lengths_of_one, .cache = &alone, .mask = own});
          EXPECT_TRUE(
              equal_rows(GetParam(), shape, rows(y, s * padded + row, length), expected.view()))
              << shape.id() << (before ? " before" : " after") << ", sequence " << s << ", " << came
              << " + " << length;
          // The cache goes on with what it had.
          Lengths again{0, 0, 0};
          again[static_cast<std::size_t>(s)] = length;
          attention.append(x, {.lengths = again, .cache = &cache});
          came += length;
        }
      }
    }
  }
}

TEST_P(LayerMasks, ThatDoNotFitAreRefusedAndLoseNothing) {
  Case shape = plain_shape(6, 10, 3, 4);
  shape.batch = 2;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  KeyValueCache cache(attention, {2, 20});
  Matrix y(12, shape.output_width());
  attention.forward(layer.x.view(), y.view(), {.cache = &cache});
  const Matrix before = y;
  std::vector<float> values(1000);
  const auto refused = [&](const std::string& words, const MaskView& mask) {
    expect_refused(words, [&] {
      attention.forward(layer.x.view(), y.view(), {.cache = &cache, .mask = mask});
    });
    EXPECT_EQ(cache.length(0), 6);
    EXPECT_TRUE(same_bits(y, before));
  };
  MaskView fits{values.data(), nullptr, nullptr, 2, 3, 6, 12, 216, 72, 12, 1};
  const auto with = [&](const auto& change) {
    MaskView mask = fits;
    change(mask);
    return mask;
  };
  refused("allowed for batch are 1 and 2", with([](MaskView& m) { m.batch = 3; }));
  refused("allowed for heads are 1 and 3", with([](MaskView& m) { m.heads = 2; }));
  refused("allowed for queries are 1 and 6", with([](MaskView& m) { m.queries = 12; }));
  refused("allowed for keys are 1 and 12", with([](MaskView& m) { m.keys = 6; }));
  refused("negative stride", with([](MaskView& m) { m.query_stride = -12; }));
  refused("2^56 bytes", with([](MaskView& m) { m.head_stride = std::int64_t{1} << 60; }));
  const std::vector<std::uint8_t> seen(1000);
  refused("several kinds", with([&](MaskView& m) { m.seen = seen.data(); }));
  refused("y overlaps the mask", {.added = y.values.data(), .keys = 12});
  values[static_cast<std::size_t>(216 + 2 * 72 + 5 * 12 + 11)] =
      std::numeric_limits<float>::quiet_NaN();
  refused("NaN for sequence 1, head 2, query 5 and key 11", fits);
  const std::vector<Bf16> nans(12, Bf16{0xffff});
  refused("NaN for sequence 0, head 0, query 0 and key 0", {.added_bf16 = nans.data(), .keys = 12});
  expect_refused("NaN", [&] { attention.append(layer.x.view(), {.cache = &cache, .mask = fits}); });
  EXPECT_EQ(cache.length(0), 6);
  values.assign(1000, 0);
  attention.forward(layer.x.view(), y.view(), {.cache = &cache, .mask = fits});
  EXPECT_EQ(cache.length(1), 12);
}

// Few rows and many, which tiles of parts compute.
class PrecisionMasks : public LayerTest {};

TEST_P(PrecisionMasks, AreWithinTheLimits) {
  for (const std::int64_t tokens : {3, 70}) {
    Case shape = plain_shape(tokens, 40, 4, 32);
    shape.causal = false;
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    for (RandomCall of : kinds_and_directions()) {
      of.mask_queries = of.mask_keys = true;
      const Mask mask = draw_mask(of, {1, tokens, tokens, 4, 0, 1}, 11);
      Matrix y(tokens, shape.output_width());
      attention.forward(layer.x.view(), y.view(), {.mask = mask.view()});
      const reference::Comparison found = reference::compare(
          expected_of(layer, mask), y.view(), reference::Data::standard, {GetParam().precision});
      EXPECT_TRUE(found.passed) << tokens << " tokens, " << describe(of) << ": " << found.reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, PrecisionMasks, testing::ValuesIn(precision_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(All, LayerMasks, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_masks_test
