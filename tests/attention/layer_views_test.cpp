// Weights and rows where they lie: whatever they are stored as and however far apart, a layer gives
// the bits that it gives for floats without gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/convert.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_views_test {
namespace {

// ---- weights ----

/// Bits of a number that f16 holds exactly, and whose exponent it has.
std::uint16_t f16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rest = bits & 0x7fffffffU;
  const std::uint32_t half = rest == 0 ? 0 : (rest - ((127U - 15U) << 23U)) >> 13U;
  return static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | half);
}

/// A matrix stored anew.
class Stored {
 public:
  Stored(const ConstMatrixView& from, Dtype dtype, bool by_columns, std::int64_t gap) {
    const std::int64_t inner = by_columns ? from.rows : from.cols;
    const std::int64_t outer = by_columns ? from.cols : from.rows;
    // Values of a line are neighbours, or every second one is somebody else's.
    const std::int64_t step = gap > 1 ? 2 : 1;
    const std::int64_t stride = inner * step + gap;
    bytes_.assign(static_cast<std::size_t>(outer * stride * size_of(dtype)), '\xff');  // NaN
    view_ = {bytes_.data(),
             dtype,
             from.rows,
             from.cols,
             by_columns ? step : stride,
             by_columns ? stride : step};
    for (std::int64_t r = 0; r < from.rows; ++r) {
      for (std::int64_t c = 0; c < from.cols; ++c) put(r, c, from.row(r)[c]);
    }
  }
  const ConstAnyMatrix& view() const { return view_; }

 private:
  void put(std::int64_t r, std::int64_t c, float value) {
    const std::int64_t at = r * view_.row_stride + c * view_.col_stride;
    switch (view_.dtype) {
      case Dtype::f32:
        reinterpret_cast<float*>(bytes_.data())[at] = value;
        break;
      case Dtype::bf16:
        reinterpret_cast<Bf16*>(bytes_.data())[at] = round_to_bf16(value);
        break;
      case Dtype::f16:
        reinterpret_cast<std::uint16_t*>(bytes_.data())[at] = f16_bits(value);
        break;
    }
  }

  std::vector<char> bytes_;
  ConstAnyMatrix view_;
};

// Numbers of 6 bits, which every type holds.
void coarsen(std::vector<float>& values) {
  for (float& value : values) value = std::clamp(std::round(value * 32), -63.0F, 63.0F) / 32;
}

void coarsen(SplitWeights& weights) {
  for (Matrix* matrix : {&weights.query, &weights.key, &weights.value, &weights.output}) {
    coarsen(matrix->values);
  }
  for (auto* bias :
       {&weights.query_bias, &weights.key_bias, &weights.value_bias, &weights.output_bias}) {
    coarsen(*bias);
  }
}

/// Weights whose parts are stored each in a way of its own.
struct ScatteredWeights {
  std::vector<Stored> parts;
  WeightViews views;

  ScatteredWeights(const SplitWeights& weights, std::mt19937& random) {
    parts.reserve(8);
    const WeightViews whole(weights);
    for (const auto part : {&WeightViews::query, &WeightViews::key, &WeightViews::value,
                            &WeightViews::output, &WeightViews::query_bias, &WeightViews::key_bias,
                            &WeightViews::value_bias, &WeightViews::output_bias}) {
      const ConstAnyMatrix& from = whole.*part;
      if (from.rows == 0) continue;
      const ConstMatrixView floats{static_cast<const float*>(from.data), from.rows, from.cols,
                                   from.row_stride};
      const auto dtype = static_cast<Dtype>(random() % 3);
      parts.emplace_back(floats, dtype, random() % 2 == 0, random() % 3);
      views.*part = parts.back().view();
    }
  }
};

class LayerViews : public LayerTest {};

TEST_P(LayerViews, WeightsOfAnyTypeAndLayoutGiveTheBitsOfFloats) {
  std::mt19937 random(5);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t kv_heads = i % 2 == 0 ? 0 : 2;
    Case shape = plain_shape(7, i % 3 == 0 ? 64 : 37, 4, i % 3 == 1 ? 32 : 11);
    shape.kv_heads = kv_heads;
    shape.d_proj = i % 4 == 3 ? 0 : 45;
    shape.qkv_bias = i % 2 == 0;
    Layer layer = gaussian_layer(shape, static_cast<std::uint64_t>(i));
    coarsen(layer.weights);
    const ScatteredWeights scattered(layer.weights, random);
    Attention attention = layer_for(shape, scattered.views, GetParam().options());
    Matrix y(shape.rows(), shape.output_width());
    attention.forward(layer.x.view(), y.view());
    ASSERT_TRUE(same_bits(y, run(GetParam(), layer))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerViews, testing::ValuesIn(layer_cases()), case_name);

TEST(WeightViews, AreCopiedToFloatsWithoutGaps) {
  std::mt19937 random(9);
  Case shape = plain_shape(3, 70, 5, 9);
  shape.d_proj = 66;
  shape.qkv_bias = true;
  Layer layer = gaussian_layer(shape);
  coarsen(layer.weights);
  const SplitWeights copy = to_split(ScatteredWeights(layer.weights, random).views);
  EXPECT_EQ(copy.query.values, layer.weights.query.values);
  EXPECT_EQ(copy.value.values, layer.weights.value.values);
  EXPECT_EQ(copy.output.values, layer.weights.output.values);
  EXPECT_EQ(copy.key_bias, layer.weights.key_bias);
}

TEST(WeightViews, ThatDoNotFitAreRefused) {
  const Layer layer = gaussian_layer(plain_shape(3, 8, 2, 4));
  const auto text_of = [&](const WeightViews& weights) -> std::string {
    try {
      check_weights(layer.shape, weights);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const WeightViews good(layer.weights);
  EXPECT_EQ(text_of(good), "");
  WeightViews wrong = good;
  wrong.key.cols = 7;
  EXPECT_NE(text_of(wrong).find("key is 8 x 7"), std::string::npos);
  wrong = good;
  wrong.value.data = nullptr;
  EXPECT_NE(text_of(wrong).find("value is a null pointer"), std::string::npos);
  wrong = good;
  wrong.query.col_stride = std::numeric_limits<std::int64_t>::min();
  EXPECT_NE(text_of(wrong).find("query has strides"), std::string::npos);
  wrong = good;
  wrong.query_bias = wrong.query;
  EXPECT_NE(text_of(wrong).find("query_bias has 8 x 8 values"), std::string::npos);
}

TEST(Dtypes, NothingIsStoredAsF16) {
  AttentionOptions options;
  options.dtype = Dtype::f16;
  EXPECT_THROW(choose_for(plain_shape(3, 8, 2, 4), options), InvalidArgument);
}

// ---- rows ----

std::vector<LayerCase> storing_bf16() {
  std::vector<LayerCase> all;
  std::vector<LayerCase> tried = precision_cases();
  for (LayerCase who : backend_cases()) {
    tried.push_back(who);
    who.precision = Precision::bf16;
    if (who.backend == "onednn") tried.push_back(who);
  }
  for (const LayerCase& who : tried) {
    if (!who.skip_reason.empty()) continue;
    const Target target = select_target(who.isa, who.unit);
    if (arithmetic_of(who.backend, {who.precision, Dtype::bf16}, target).precision) {
      all.push_back(who);
    }
  }
  return all;
}

/// Rows of floats or of Bf16 with somebody else's values between them.
struct Rows {
  static constexpr std::int64_t kGap = 5;
  Dtype dtype;
  std::int64_t rows, cols;
  std::vector<float> floats;
  std::vector<Bf16> halves;

  Rows(Dtype of, std::int64_t r, std::int64_t c)
      : dtype(of),
        rows(r),
        cols(c),
        floats(static_cast<std::size_t>(r * (c + kGap)), 7.0F),
        halves(floats.size(), Bf16{0x4321}) {}
  Rows(Dtype of, const Matrix& from) : Rows(of, from.rows, from.cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(from.view().row(r), cols, floats.data() + r * (cols + kGap));
      to_bf16(from.view().row(r), cols, halves.data() + r * (cols + kGap));
    }
  }
  AnyMatrix view() {
    if (dtype == Dtype::f32) return {floats.data(), rows, cols, cols + kGap};
    return {halves.data(), rows, cols, cols + kGap};
  }
  /// As bf16, whatever it is stored as.
  std::vector<Bf16> rounded() const {
    std::vector<Bf16> all;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const auto at = static_cast<std::size_t>(r * (cols + kGap) + c);
        all.push_back(dtype == Dtype::f32 ? round_to_bf16(floats[at]) : halves[at]);
      }
    }
    return all;
  }
  bool gaps_are_whole() const {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = cols; c < cols + kGap; ++c) {
        const auto at = static_cast<std::size_t>(r * (cols + kGap) + c);
        if (floats[at] != 7.0F || halves[at] != Bf16{0x4321}) return false;
      }
    }
    return true;
  }
};

class Bf16Rows : public LayerTest {};

// x rounded by the layer, x of bf16, y of floats and y of bf16: one result but for y's rounding.
TEST_P(Bf16Rows, OfXAndYEachForItselfGiveOneResult) {
  for (const std::int64_t tokens : {1, 3, 40, 130}) {
    for (const std::int64_t d_proj : {0, 75}) {
      Case shape = plain_shape(tokens, 83, 3, 24);
      shape.d_proj = d_proj;
      const Layer layer = gaussian_layer(shape);
      AttentionOptions options = GetParam().options();
      options.dtype = Dtype::bf16;
      Attention attention = layer_for(shape, layer.weights, options);
      std::vector<Bf16> first;
      for (const Dtype of_x : {Dtype::f32, Dtype::bf16}) {
        for (const Dtype of_y : {Dtype::f32, Dtype::bf16}) {
          Rows x(of_x, layer.x), y(of_y, tokens, shape.output_width());
          attention.forward(x.view(), y.view());
          ASSERT_TRUE(x.gaps_are_whole() && y.gaps_are_whole());
          if (first.empty()) first = y.rounded();
          ASSERT_EQ(y.rounded(), first)
              << tokens << ' ' << d_proj << ' ' << to_string(of_x) << ' ' << to_string(of_y);
        }
      }
    }
  }
}

// What parts do not carry is computed again by f32, which finds x where it lies, too.
TEST_P(Bf16Rows, TinyAndInfiniteValuesFindTheirWay) {
  Case shape = plain_shape(48, 64, 2, 32);
  shape.d_proj = 64;
  Layer layer = gaussian_layer(shape);
  layer.x.view().row(3)[5] = std::numeric_limits<float>::infinity();
  for (std::int64_t c = 0; c < 64; ++c) layer.x.view().row(40)[c] *= 0x1p-120F;
  AttentionOptions options = GetParam().options();
  options.dtype = Dtype::bf16;
  Attention attention = layer_for(shape, layer.weights, options);
  Rows floats(Dtype::f32, layer.x), halves(Dtype::bf16, layer.x);
  Rows y(Dtype::bf16, 48, 64), again(Dtype::bf16, 48, 64);
  attention.forward(floats.view(), y.view());
  attention.forward(halves.view(), again.view());
  EXPECT_EQ(y.rounded(), again.rounded());
}

TEST_P(Bf16Rows, NeedNoCopyInTheWorkspace) {
  Case shape = plain_shape(256, 1024, 4, 32);
  shape.d_proj = 1024;
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options = GetParam().options();
  const std::int64_t of_floats = layer_for(shape, layer.weights, options).costs().workspace_bytes;
  options.dtype = Dtype::bf16;
  const std::int64_t of_bf16 = layer_for(shape, layer.weights, options).costs().workspace_bytes;
  EXPECT_LE(of_bf16, of_floats);
}

TEST_P(Bf16Rows, ValuesOfARowLieSideBySide) {
  const Layer layer = gaussian_layer(plain_shape(4, 8, 2, 4));
  AttentionOptions options = GetParam().options();
  options.dtype = Dtype::bf16;
  Attention attention = layer_for(layer.shape, layer.weights, options);
  Matrix y(4, 8);
  const ConstAnyMatrix turned(layer.x.values.data(), 4, 8, 1, 4);
  EXPECT_THROW(attention.forward(turned, y.view()), InvalidArgument);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16Rows);
INSTANTIATE_TEST_SUITE_P(Layers, Bf16Rows, testing::ValuesIn(storing_bf16()), case_name);

}  // namespace
}  // namespace headroom::test::layer_views_test
