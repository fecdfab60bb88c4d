// Calls of layers that store bf16, whose x and y are bf16 or floats.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/convert.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/rounded_layer.hpp"

namespace headroom::test::layer_bf16_calls_test {
namespace {

std::optional<AttentionOptions> storing_bf16() {
  for (const LayerCase& who : backend_cases()) {
    if (!who.skip_reason.empty()) continue;
    AttentionOptions options = who.options();
    options.dtype = Dtype::bf16;
    options.precision = Precision::bf16;
    if (arithmetic_of(who.backend, {options.precision.value(), options.dtype},
                      select_target(who.isa))
            .precision) {
      return options;
    }
  }
  return std::nullopt;
}

struct Bf16Matrix {
  std::vector<Bf16> values;
  std::int64_t rows, cols;

  Bf16Matrix(std::int64_t r, std::int64_t c)
      : values(static_cast<std::size_t>(r * c)), rows(r), cols(c) {}
  explicit Bf16Matrix(const Matrix& m) : Bf16Matrix(m.rows, m.cols) {
    to_bf16(m.values.data(), static_cast<std::int64_t>(values.size()), values.data());
  }
  BasicMatrixView<Bf16> view() { return {values.data(), rows, cols, cols}; }
  BasicMatrixView<const Bf16> view() const { return {values.data(), rows, cols, cols}; }
};

class Bf16Calls : public testing::Test {
 protected:
  void SetUp() override {
    options_ = storing_bf16();
    if (!options_) GTEST_SKIP() << "no backend of this machine stores bf16";
  }
  std::optional<AttentionOptions> options_;
};

TEST_F(Bf16Calls, GiveTheRoundedResultOfFloatCalls) {
  const Layer layer = gaussian_layer(layer_of_96(33));
  Attention attention = layer_for(layer.shape, layer.weights, *options_);
  Matrix floats(33, 80);
  attention.forward(layer.x.view(), floats.view());
  Bf16Matrix y(33, 80);
  attention.forward(Bf16Matrix(layer.x).view(), y.view());
  EXPECT_EQ(y.values, Bf16Matrix(floats).values);
  std::vector<float> again = floats.values;
  round(again);
  EXPECT_NE(floats.values, again) << "y of a float call is not rounded";
}

TEST_F(Bf16Calls, FloatsAreRoundedOnTheirWayIn) {
  const Layer layer = gaussian_layer(layer_of_96(9));
  Attention attention = layer_for(layer.shape, layer.weights, *options_);
  Matrix y(9, 80), of_rounded(9, 80);
  attention.forward(layer.x.view(), y.view());
  attention.forward(rounded(layer).x.view(), of_rounded.view());
  EXPECT_TRUE(same_bits(y, of_rounded));
}

TEST_F(Bf16Calls, PaddedRowsAreNeitherReadNorWritten) {
  for (const std::int64_t d_proj : {0, 80}) {
    Case shape = layer_of_96(12);
    shape.batch = 3;
    shape.d_proj = d_proj;
    const Layer layer = gaussian_layer(shape);
    const std::int64_t width = shape.output_width();
    Attention attention = layer_for(shape, layer.weights, *options_);
    const std::vector<std::int64_t> lengths{5, 0, 12};
    Bf16Matrix x(layer.x), y(36, width), dense_x(17, 96), dense_y(17, width);
    const Bf16 nan = round_to_bf16(std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t row = 5; row < 24; ++row) std::fill_n(x.view().row(row), 96, nan);
    std::fill(y.values.begin(), y.values.end(), nan);
    Call call;
    call.lengths = lengths;
    call.padded_tokens = 12;
    attention.forward(x.view(), y.view(), call);
    std::copy_n(x.view().row(0), 5 * 96, dense_x.view().row(0));
    std::copy_n(x.view().row(24), 12 * 96, dense_x.view().row(5));
    call.padded_tokens = 0;
    attention.forward(dense_x.view(), dense_y.view(), call);
    for (std::int64_t row = 0; row < 36; ++row) {
      const bool padding = row >= 5 && row < 24;
      for (std::int64_t c = 0; c < width; ++c) {
        const Bf16 expected = padding ? nan : dense_y.view().row(row < 5 ? row : row - 24 + 5)[c];
        EXPECT_EQ(y.view().row(row)[c], expected) << row << ", " << c;
      }
    }
    // The same of floats.
    Matrix float_y(36, width);
    Call float_call = call;
    float_call.padded_tokens = 12;
    attention.forward(layer.x.view(), float_y.view(), float_call);
    EXPECT_EQ(round_to_bf16(float_y.view().row(30)[0]), y.view().row(30)[0]);
    EXPECT_EQ(float_y.view().row(7)[0], 0.0F);
  }
}

TEST_F(Bf16Calls, AppendAndACacheGiveWhatOneCallGives) {
  const Layer layer = gaussian_layer(layer_of_96(24));
  Attention attention = layer_for(layer.shape, layer.weights, *options_);
  const Bf16Matrix x(layer.x);
  Bf16Matrix whole(24, 80), last(4, 80);
  attention.forward(x.view(), whole.view());
  KeyValueCache cache(attention, {1, 24});
  Call call;
  call.cache = &cache;
  attention.append(x.view().slice(0, 20), call);
  EXPECT_EQ(cache.length(), 20);
  attention.forward(x.view().slice(20, 4), last.view(), call);
  for (std::int64_t i = 0; i < 4 * 80; ++i) {
    const float expected = whole.values[static_cast<std::size_t>(20 * 80 + i)].value();
    EXPECT_NEAR(last.values[static_cast<std::size_t>(i)].value(), expected,
                0.02F + 0.01F * std::abs(expected));
  }
}

TEST_F(Bf16Calls, ASecondInputOfEitherType) {
  Case shape = layer_of_96(7);
  shape.causal = false;
  shape.d_memory = 40;
  shape.memory_tokens = 11;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, *options_);
  const Bf16Matrix x(layer.x), memory(layer.memory);
  Bf16Matrix y(7, 80), again(7, 80);
  Call call;
  call.memory = memory.view();
  attention.forward(x.view(), y.view(), call);
  Call floats;
  floats.memory = layer.memory.view();
  attention.forward(x.view(), again.view(), floats);
  EXPECT_EQ(y.values, again.values);
  EXPECT_NE(y.values.front(), Bf16{});
}

TEST_F(Bf16Calls, WrongOnesAreRefusedBeforeAnythingIsWritten) {
  const Layer layer = gaussian_layer(layer_of_96(4));
  Attention attention = layer_for(layer.shape, layer.weights, *options_);
  const Bf16Matrix x(layer.x);
  Bf16Matrix y(4, 80);
  const std::vector<Bf16> before = y.values;
  const auto text_of = [&](const ConstAnyMatrix& from, const AnyMatrix& to) -> std::string {
    try {
      attention.forward(from, to);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text_of({x.values.data(), 4, 95, 96}, y.view()).find("x is 4 x 95"), std::string::npos);
  EXPECT_NE(text_of(x.view(), {y.values.data(), 4, 80, 79}).find("stride 79"), std::string::npos);
  EXPECT_NE(text_of(x.view(), {nullptr, Dtype::bf16, 4, 80, 80}).find("bf16 values"),
            std::string::npos);
  std::vector<Bf16> shared(4 * 96);
  EXPECT_NE(text_of({shared.data(), 4, 96, 96}, {shared.data() + 200, 4, 80, 80}).find("overlaps"),
            std::string::npos);
  EXPECT_EQ(y.values, before);
}

TEST(Bf16Views, AreRefusedByALayerOfFloats) {
  const Layer layer = gaussian_layer(plain_shape(4, 8, 2, 4));
  Attention attention = layer_for(layer.shape, layer.weights, {"naive"});
  const Bf16Matrix x(layer.x);
  Bf16Matrix y(4, 8);
  EXPECT_THROW(attention.forward(x.view(), y.view()), InvalidArgument);
  KeyValueCache cache(attention, {1, 4});
  Call call;
  call.cache = &cache;
  EXPECT_THROW(attention.append(x.view(), call), InvalidArgument);
  EXPECT_EQ(cache.length(), 0);
  Call with_memory;
  with_memory.memory = x.view();
  Matrix floats(4, 8);
  EXPECT_THROW(attention.forward(layer.x.view(), floats.view(), with_memory), InvalidArgument);
  EXPECT_THROW(attention.forward(layer.x.view(), y.view()), InvalidArgument) << "y alone";
}

TEST(Bf16Rounding, IsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(round_to_bf16(1.0F).bits, 0x3f80);
  EXPECT_EQ(round_to_bf16(1.00390625F).bits, 0x3f80) << "halfway, down to even";
  EXPECT_EQ(round_to_bf16(1.01171875F).bits, 0x3f82) << "halfway, up to even";
  EXPECT_EQ(round_to_bf16(3.4e38F).bits, 0x7f80) << "above the largest";
  EXPECT_EQ(round_to_bf16(-INFINITY).bits, 0xff80);
  EXPECT_TRUE(std::isnan(round_to_bf16(std::bit_cast<float>(0x7f800001u)).value()));
}

}  // namespace
}  // namespace headroom::test::layer_bf16_calls_test
