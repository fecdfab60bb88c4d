// Padding before a sequence: what it changes is the temperature alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/call_shapes.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_places_test {
namespace {

constexpr std::int64_t kTokens = 21;

Layer warm_layer() {
  Case shape = plain_shape(kTokens, 24, 4, 8);
  shape.kv_heads = 2;
  shape.d_proj = 20;
  shape.temperature = {4, 0.5};
  return gaussian_layer(shape);
}

double factor_at(const Temperature& temperature, std::int64_t place) {
  const double steps = std::floor(static_cast<double>(place + 1) / temperature.step);
  return 1 + temperature.scale * std::log1p(steps);
}

/// The oracle's rows of layers without a temperature, whose scale is that of a row's place.
Matrix expected_rows(const Layer& layer, std::int64_t before) {
  Matrix expected(kTokens, layer.shape.output_width());
  std::map<double, std::vector<double>> found;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    const double factor = factor_at(layer.shape.temperature, before + i);
    std::vector<double>& y = found[factor];
    if (y.empty()) {
      Layer plain = layer;
      plain.shape.temperature = {};
      plain.shape.scale = layer.shape.score_scale() * factor;
      y = oracle(plain).y;
    }
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      const auto at = static_cast<std::size_t>(i * expected.cols + c);
      expected.values[at] = static_cast<float>(y[at]);
    }
  }
  return expected;
}

class LayerPlaces : public LayerTest {
 protected:
  const Layer layer_ = warm_layer();
};

TEST_P(LayerPlaces, BeforeASequenceCountForItsTemperature) {
  Case three = layer_.shape;
  three.batch = 3;
  Attention attention = layer_for(three, layer_.weights, GetParam().options());
  const Lengths before{0, 3, 1000}, lengths{kTokens, kTokens, kTokens};
  Matrix x(3 * kTokens, layer_.shape.d_in), y(3 * kTokens, layer_.shape.output_width());
  for (std::int64_t s = 0; s < 3; ++s) {
    std::copy(layer_.x.values.begin(), layer_.x.values.end(), x.view().row(s * kTokens));
  }
  Call call;
  call.lengths = lengths;
  call.places_before = before;
  attention.forward(x.view(), y.view(), call);
  for (std::int64_t s = 0; s < 3; ++s) {
    const Matrix expected = expected_rows(layer_, before[static_cast<std::size_t>(s)]);
    EXPECT_TRUE(agree(rows(y, s * kTokens, kTokens), expected.view())) << s;
  }
}

// They are of the sequence, and not of a call: its tokens come in three.
TEST_P(LayerPlaces, AreThoseOfTheWholeSequence) {
  Attention attention = layer_for(layer_.shape, layer_.weights, GetParam().options());
  const Lengths before{6};
  Call call;
  call.places_before = before;
  Matrix whole(kTokens, layer_.shape.output_width()), parts = whole;
  attention.forward(layer_.x.view(), whole.view(), call);
  KeyValueCache cache(attention, {1, kTokens});
  call.cache = &cache;
  std::int64_t done = 0;
  for (const std::int64_t count : {13, 7, 1}) {
    attention.forward(rows(layer_.x, done, count), rows_of(parts, done, count), call);
    done += count;
  }
  EXPECT_TRUE(equal_for(GetParam(), parts.view(), whole.view()));
}

// There tokens count from 0 in every call, so a later part says how many came before.
TEST_P(LayerPlaces, AreSaidOfPartsBesideASecondInput) {
  Case shape = layer_.shape;
  shape.causal = false;
  shape.d_memory = 12;
  shape.memory_tokens = 9;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  KeyValueCache cache(attention, {1, shape.memory_tokens});
  Matrix whole(kTokens, shape.output_width()), parts = whole, unsaid = whole;
  attention.forward(layer.x.view(), whole.view(), {.cache = &cache, .memory = layer.memory.view()});
  std::int64_t done = 0;
  for (const std::int64_t count : {13, 7, 1}) {
    const Lengths before{done};
    const ConstMatrixView x = rows(layer.x, done, count);
    attention.forward(x, rows_of(parts, done, count), {.cache = &cache, .places_before = before});
    attention.forward(x, rows_of(unsaid, done, count), {.cache = &cache});
    done += count;
  }
  EXPECT_TRUE(equal_for(GetParam(), parts.view(), whole.view()));
  EXPECT_FALSE(agree(unsaid, whole));
}

TEST_P(LayerPlaces, AreOneForEachSequenceAndNotBelow0) {
  Attention attention = layer_for(layer_.shape, layer_.weights, GetParam().options());
  Matrix y(kTokens, layer_.shape.output_width());
  for (const Lengths& before : {Lengths{1, 1}, Lengths{-1}, Lengths{std::int64_t{1} << 60}}) {
    Call call;
    call.places_before = before;
    try {
      attention.forward(layer_.x.view(), y.view(), call);
      ADD_FAILURE() << before.front() << " was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("places_before"), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerPlaces, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_places_test
