// Rotary positions that a call gives, on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"
#include "support/token_positions.hpp"

namespace headroom::test::layer_positions_test {
namespace {

using List = std::vector<std::int64_t>;

class LayerPositions : public LayerTest {
 protected:
  Matrix forward(Attention& layer, ConstMatrixView x, Call call) {
    Matrix y(x.rows, layer.config().output_width());
    std::fill(y.values.begin(), y.values.end(), -1.0F);
    layer.forward(x, y.view(), call);
    return y;
  }
};

Case turning_shape() {
  Case shape = plain_shape(40, 24, 4, 16);  // 8 pairs of a head
  shape.kv_heads = 2;
  shape.rotary = {Rotary::Pairs::halves, 100, 1};
  return shape;
}

Case pictures_shape(bool interleaved) {
  Case shape = turning_shape();
  shape.rotary.sections = {3, 3, 2};
  shape.rotary.interleaved = interleaved;
  return shape;
}

// A text, a picture of 4 x 3 whose tokens share a time, and a text after it.
Positions of_a_picture(std::int64_t tokens) {
  Positions positions;
  for (std::int64_t place = 0; place < tokens; ++place) {
    const std::int64_t in_picture = place - 5;
    const bool shown = in_picture >= 0 && in_picture < 12;
    const std::int64_t text = place < 5 ? place : place - 5 - 12 + 5 + 4;
    positions[0].push_back(shown ? 5 : text);
    positions[1].push_back(shown ? 5 + in_picture / 3 : text);
    positions[2].push_back(shown ? 5 + in_picture % 3 : text);
  }
  return positions;
}

TEST_P(LayerPositions, OfPlacesAreNone) {
  for (const Case& shape : {turning_shape(), pictures_shape(false), pictures_shape(true)}) {
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    List places(40);
    std::iota(places.begin(), places.end(), 0);
    const Matrix expected = forward(attention, layer.x.view(), {});
    EXPECT_TRUE(same_bits(forward(attention, layer.x.view(), {.positions = places}), expected));
    places.back() = 7;
    EXPECT_FALSE(same_bits(forward(attention, layer.x.view(), {.positions = places}), expected));
  }
}

// Near the call, where a table has their angles, and far beyond it.
TEST_P(LayerPositions, OfPicturesAreWhatTheOracleComputes) {
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t later : {0, 100000}) {
      Layer layer = gaussian_layer(pictures_shape(interleaved));
      layer.positions = one_list(of_a_picture(40));
      for (std::int64_t& position : layer.positions) position += later;
      Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
      const Matrix y = forward(attention, layer.x.view(), {.positions = layer.positions});
      const reference::Comparison found =
          reference::compare(oracle(layer), y.view(), reference::Data::standard);
      EXPECT_TRUE(found.passed) << found.reason;
      layer.positions.clear();
      EXPECT_FALSE(reference::compare(oracle(layer), y.view(), reference::Data::standard).passed);
    }
  }
}

// What is cached keeps its positions: in chunks, and by `append`.
TEST_P(LayerPositions, GoWithTheirTokens) {
  const Layer layer = gaussian_layer(pictures_shape(true));
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  const Positions all = of_a_picture(40);
  const List whole = one_list(all);
  const Matrix expected = forward(attention, layer.x.view(), {.positions = whole});
  KeyValueCache cache(attention, {1, 40});
  const List first = one_list(part_of(all, 0, 9)), second = one_list(part_of(all, 9, 20)),
             last = one_list(part_of(all, 29, 1));
  attention.append(rows(layer.x, 0, 9), {.cache = &cache, .positions = first});
  const Matrix y = forward(attention, rows(layer.x, 9, 20), {.cache = &cache, .positions = second});
  EXPECT_TRUE(equal_for(GetParam(), y.view(), rows(expected, 9, 20)));
  const Matrix one = forward(attention, rows(layer.x, 29, 1), {.cache = &cache, .positions = last});
  EXPECT_TRUE(equal_for(GetParam(), one.view(), rows(expected, 29, 1)));
}

// Padding has positions that nobody reads, on either side.
TEST_P(LayerPositions, ArePaddedAsXIs) {
  Case shape = pictures_shape(false);
  shape.batch = 2;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  const List lengths{17, 40};
  List dense(3 * 57);
  for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<std::int64_t>(i * 7 % 61);
  const Matrix expected =
      forward(attention, rows(layer.x, 0, 57), {.lengths = lengths, .positions = dense});
  for (const bool before : {false, true}) {
    Call call{.lengths = lengths, .padded_tokens = 40, .padded_before = before};
    Matrix x(80, shape.d_in);
    List padded(240, -1);
    std::int64_t row = 0;
    for (std::int64_t s = 0; s < 2; ++s) {
      const std::int64_t length = lengths[static_cast<std::size_t>(s)];
      for (std::int64_t i = 0; i < length; ++i, ++row) {
        const std::int64_t to = call.padded_row(s, length) + i;
        std::copy_n(layer.x.view().row(row), shape.d_in, x.values.data() + to * shape.d_in);
        for (std::int64_t axis = 0; axis < 3; ++axis) {
          padded[static_cast<std::size_t>(axis * 80 + to)] =
              dense[static_cast<std::size_t>(axis * 57 + row)];
        }
      }
    }
    call.positions = padded;
    const Matrix y = forward(attention, x.view(), call);
    const std::int64_t second = call.padded_row(1, 40), first = call.padded_row(0, 17);
    EXPECT_TRUE(equal_for(GetParam(), rows(y, first, 17), rows(expected, 0, 17)));
    EXPECT_TRUE(equal_for(GetParam(), rows(y, second, 40), rows(expected, 17, 40)));
  }
}

// Masks, windows and temperatures go by places.
TEST_P(LayerPositions, HideNothing) {
  Case shape = turning_shape();
  shape.window = 9;
  shape.temperature = {4, 0.5};
  shape.position_bias.kind = PositionBias::Kind::slopes;
  Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  for (std::int64_t i = 0; i < 40; ++i) layer.positions.push_back(90'000 - 1000 * (i % 7));
  const Matrix y = forward(attention, layer.x.view(), {.positions = layer.positions});
  const reference::Comparison found =
      reference::compare(oracle(layer), y.view(), reference::Data::standard);
  EXPECT_TRUE(found.passed) << found.reason;
}

TEST_P(LayerPositions, ThatDoNotFitAreRefused) {
  const Layer layer = gaussian_layer(turning_shape());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  KeyValueCache cache(attention, {1, 40});
  Matrix y(4, layer.shape.output_width());
  std::fill(y.values.begin(), y.values.end(), -1.0F);
  const auto refused = [&](Attention& by, const List& positions, const std::string& word) {
    Call call{.positions = positions};
    if (&by == &attention) call.cache = &cache;
    expect_refused(word, [&] { by.forward(rows(layer.x, 0, 4), y.view(), call); });
  };
  refused(attention, {0, 1, 2}, "3 positions for 4 rows");
  refused(attention, List(12), "12 positions for 4 rows of x; give one for each, padding");
  refused(attention, {0, 1, -1, 3}, "a position of row 2 is -1");
  refused(attention, {0, 1, 2, (std::int64_t{1} << 53) + 1}, "allowed are 0 to 2^53");
  EXPECT_EQ(cache.length(), 0);
  const Layer pictures = gaussian_layer(pictures_shape(true));
  Attention three = layer_for(pictures.shape, pictures.weights, GetParam().options());
  refused(three, List(8), "give one for each, or three, padding");
  refused(three, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -5}, "a position of row 3 is -5");
  Case plain = turning_shape();
  plain.rotary = {};
  Attention still = layer_for(plain, layer.weights, GetParam().options());
  refused(still, {0, 1, 2, 3}, "turns nothing");
  EXPECT_TRUE(std::all_of(y.values.begin(), y.values.end(), [](float v) { return v == -1.0F; }));
}

INSTANTIATE_TEST_SUITE_P(Backends, LayerPositions, testing::ValuesIn(layer_cases()), case_name);

TEST(LayerPositionsConfig, SectionsMustBeOfAllPairs) {
  Case shape = pictures_shape(false);
  shape.rotary.sections = {3, 3, 3};
  EXPECT_THROW(shape.validate(), InvalidArgument);
  shape.rotary.sections = {9, -1, 0};
  EXPECT_THROW(shape.validate(), InvalidArgument);
  shape.rotary.sections = {0, 0, 8};
  shape.validate();
  EXPECT_NE(pictures_shape(false).id(), pictures_shape(true).id());
  EXPECT_NE(pictures_shape(false).id(), turning_shape().id());
}

TEST(LayerPositionsConfig, LongContextsHaveOneOfTwoWays) {
  const auto refused = [](const std::string& word, const auto& change) {
    Case shape = turning_shape();
    change(shape.rotary);
    expect_refused(word, [&] { shape.validate(); });
  };
  const std::vector<double> eight(8, 2);
  refused("allowed are none of the three", [](Rotary& r) { r.context = 9; });
  refused("allowed are none of the three", [](Rotary& r) { r.growth = 2; });
  refused("allowed are none of the three", [&](Rotary& r) { r.long_divisors = eight; });
  refused("or a context with one of",
          [&](Rotary& r) { r.context = 9, r.growth = 2, r.long_divisors = eight; });
  refused("1 long_divisors", [](Rotary& r) { r.context = 9, r.long_divisors = {2}; });
  refused("rotary context is -1", [](Rotary& r) { r.context = -1; });
  refused("growth is 0.5", [](Rotary& r) { r.context = 9, r.growth = 0.5; });
  refused("of 2 values that turn", [](Rotary& r) { r.context = 9, r.growth = 2, r.width = 2; });
  Case grows = turning_shape(), divided = turning_shape(), other = turning_shape();
  grows.rotary.context = divided.rotary.context = other.rotary.context = 9;
  grows.rotary.growth = 2;
  divided.rotary.long_divisors = eight;
  other.rotary.long_divisors = std::vector<double>(8, 3);
  EXPECT_EQ(grows.id(), turning_shape().id() + "c9g2");
  EXPECT_NE(divided.id(), other.id());
}

}  // namespace
}  // namespace headroom::test::layer_positions_test
