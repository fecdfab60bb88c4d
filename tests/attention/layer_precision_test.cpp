// Layers that compute or store less than float32: their errors, their limits, and their calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/convert.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test {
namespace {

using reference::Comparison;
using reference::Data;

void round(std::vector<float>& values) {
  for (float& value : values) value = round_to_bf16(value).value();
}

Layer rounded(Layer layer) {
  for (Matrix* m : {&layer.weights.query, &layer.weights.key, &layer.weights.value,
                    &layer.weights.output, &layer.x, &layer.past, &layer.memory}) {
    round(m->values);
  }
  return layer;
}

Case shape_of(std::int64_t tokens) {
  Case shape = plain_shape(tokens, 96, 6, 32);
  shape.d_proj = 80;
  return shape;
}

struct NumbersCase {
  LayerCase who;
  Numbers numbers;
};

void PrintTo(const NumbersCase& c, std::ostream* out) {
  *out << c.who << '/' << headroom::to_string(c.numbers);
}

// Whatever a backend says that it computes, besides f32 stored as f32.
std::vector<NumbersCase> numbers_cases() {
  std::vector<NumbersCase> cases;
  for (const LayerCase& who : layer_cases()) {
    if (!who.skip_reason.empty()) continue;
    const auto add = [&](const Numbers& numbers) {
      if (numbers == Numbers{}) return;
      const Arithmetic does = arithmetic_of(who.backend, numbers, select_target(who.isa));
      if (does.precision == numbers.precision) cases.push_back({who, numbers});
    };
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      for (const Precision precision : kAllPrecisions) add({precision, dtype});
      for (const Storage weights : {Storage::q8, Storage::q4}) {
        add({Precision::int8, dtype, weights});
      }
    }
  }
  return cases;
}

// The unit's name belongs to those who use it: results of f32 are the same whatever there is.
TEST(LayerUnit, F32HasNone) {
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    for (const Target& target : available_targets()) {
      for (const Unit unit : available_units(target.isa)) {
        const Arithmetic does =
            arithmetic_of(info.name, {Precision::f32, Dtype::f32}, {target.isa, unit});
        ASSERT_EQ(does.precision, Precision::f32) << info.name;
        EXPECT_EQ(does.unit, Unit::none) << info.name << " on " << to_string(unit);
      }
    }
  }
}

TEST(LayerUnit, OtherPrecisionsNameTheirs) {
  const Isa isa = available_isas().back();
  for (const char* name : {"xsimd", "tbb"}) {
    for (const Unit unit : available_units(isa)) {
      const Arithmetic does = arithmetic_of(name, {Precision::bf16, Dtype::f32}, {isa, unit});
      // On some cores pairs of bf16 are no faster than f32, which a burst finds.
      const bool declined =
          unit == Unit::none || (unit == Unit::avx512_bf16 && !does.reason.empty());
      EXPECT_EQ(does.precision, declined ? Precision::f32 : Precision::bf16);
      EXPECT_EQ(does.unit, declined ? Unit::none : unit);
    }
  }
}

// Its products are its own: an emulator of tiles is none of its units, and takes none away.
TEST(LayerUnit, AVendorLibraryKeepsTheUnitOfTheProcessor) {
  const Isa isa = available_isas().back();
  const Unit own = available_units(isa).back();
  const auto does = [&](Unit unit) {
    return arithmetic_of("onednn", {Precision::bf16, Dtype::f32}, {isa, unit});
  };
  EXPECT_FALSE(does(Unit::none).precision);
  EXPECT_EQ(does(Unit::emulated).precision, does(own).precision);
  EXPECT_EQ(does(Unit::emulated).unit, does(own).unit);
}

TEST(LayerUnit, AChoiceNamesIt) {
  AttentionOptions options;
  options.backend = "xsimd";
  options.unit = Unit::emulated;
  EXPECT_EQ(choose_for(shape_of(40), options).unit, Unit::none);
  options.precision = Precision::bf16x6;
  EXPECT_EQ(choose_for(shape_of(40), options).unit, Unit::emulated);
  options.unit = Unit::none;
  const Choice choice = choose_for(shape_of(40), options);
  EXPECT_EQ(choice.precision, Precision::f32);
  EXPECT_EQ(choice.unit, Unit::none);
}

class LayerPrecision : public testing::TestWithParam<NumbersCase> {
 protected:
  AttentionOptions options() const {
    AttentionOptions options = GetParam().who.options();
    options.precision = GetParam().numbers.precision;
    options.dtype = GetParam().numbers.dtype;
    options.weights_dtype = GetParam().numbers.weights;
    return options;
  }
  bool stores_bf16() const { return GetParam().numbers.dtype == Dtype::bf16; }

  /// With the values that the layer stores.
  Layer as_stored(Layer layer) const {
    if (stores_bf16()) layer = rounded(std::move(layer));
    const std::optional<Storage> weights = GetParam().numbers.weights;
    if (weights) layer.weights = stored(std::move(layer.weights), *weights);
    return layer;
  }

  Layer layer_of(const Case& shape) const { return as_stored(gaussian_layer(shape)); }

  Comparison check(const Layer& layer, ConstMatrixView y, Data data = Data::standard) const {
    reference::Expected expected = oracle(layer);
    const Precision of_limits = reference::limit_class(GetParam().numbers);
    if (data == Data::adversarial && of_limits != Precision::f32) {
      reference::add_coarse_bound(layer.shape, layer.weights, layer.inputs(), of_limits, 1,
                                  expected);
    }
    return reference::compare(expected, y, data, GetParam().numbers);
  }

  void expect_passed(const Layer& layer, Data data = Data::standard) {
    Attention attention = layer_for(layer.shape, layer.weights, options());
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), y.view());
    const Comparison result = check(layer, y.view(), data);
    EXPECT_TRUE(result.passed) << layer.shape.id() << ": " << result.reason;
    if (data == Data::standard) return;
    EXPECT_LT(result.bound_ratio, 0.6) << layer.shape.id();
  }
};

TEST_P(LayerPrecision, IsWithinItsLimitsAndNotWithinBetterOnes) {
  const Layer layer = layer_of(shape_of(70));
  Attention attention = layer_for(layer.shape, layer.weights, options());
  EXPECT_EQ(attention.choice().precision, GetParam().numbers.precision);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  const Comparison result = check(layer, y.view());
  EXPECT_TRUE(result.passed) << result.reason;
  if (accuracy_class(GetParam().numbers.precision) == Precision::f32) return;
  // A layer that only says so would be as exact as f32.
  EXPECT_GT(result.nrmse, reference::kNrmseLimit / 10);
}

TEST_P(LayerPrecision, SizesOfEveryKind) {
  for (const std::int64_t size : {1, 2, 3, 15, 16, 17, 31, 33, 67}) {
    Case shape = plain_shape(size, 24, 3, 8);
    expect_passed(layer_of(shape));
    shape = plain_shape(19, size, 3, 8);
    shape.d_proj = size;
    expect_passed(layer_of(shape));
    expect_passed(layer_of(plain_shape(19, 24, 3, size)));
  }
}

TEST_P(LayerPrecision, OptionsOfEveryKind) {
  const auto with = [&](const auto& change) {
    Case shape = shape_of(45);
    shape.batch = 2;
    change(shape);
    expect_passed(layer_of(shape));
  };
  with([](Case& s) { s.causal = false; });
  with([](Case& s) { s.qkv_bias = true; });
  with([](Case& s) { s.d_proj = 0; });
  with([](Case& s) { s.kv_heads = 2; });
  with([](Case& s) { s.window = 11; });
  with([](Case& s) { s.rotary.pairs = Rotary::Pairs::halves; });
}

TEST_P(LayerPrecision, HardDataIsWithinTheElementBound) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t d_proj : {0, 40}) {
      Case shape = plain_shape(67, 48, 3, 32);
      shape.causal = causal;
      shape.d_proj = d_proj;
      Layer large = layer_of(shape);
      for (float& w : large.weights.query.values) w *= 4;
      for (float& w : large.weights.key.values) w *= 4;
      expect_passed(large, Data::adversarial);
      Layer cancelling = layer_of(shape);
      for (std::int64_t r = 0; r + 1 < shape.tokens; r += 2) {
        for (std::int64_t c = 0; c < shape.d_in; ++c) {
          cancelling.x.view().row(r + 1)[c] = -cancelling.x.view().row(r)[c];
        }
      }
      expect_passed(cancelling, Data::adversarial);
      Layer offset = layer_of(shape);
      for (float& v : offset.x.values) v += 100;
      expect_passed(as_stored(offset), Data::adversarial);
      shape.dropout = 0.3;
      expect_passed(layer_of(shape), Data::adversarial);
    }
  }
}

TEST_P(LayerPrecision, SpecialValuesReachTheRowsThatDependOnThem) {
  Layer layer = layer_of(plain_shape(40, 32, 2, 16));
  layer.x.view().row(20)[3] = std::numeric_limits<float>::quiet_NaN();
  Attention attention = layer_for(layer.shape, layer.weights, options());
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  for (std::int64_t r = 0; r < 40; ++r) {
    EXPECT_EQ(std::isnan(y.view().row(r)[0]), r >= 20) << r;
  }
}

TEST_P(LayerPrecision, StepByStepWithACache) {
  const Layer layer = layer_of(shape_of(40));
  Attention attention = layer_for(layer.shape, layer.weights, options());
  KeyValueCache cache(attention, {1, 40});
  Matrix y(40, 80);
  for (std::int64_t row = 0; row < 40; row += 8) {
    attention.forward(layer.x.view().slice(row, 8), y.view().slice(row, 8), {.cache = &cache});
  }
  const Comparison result = check(layer, y.view());
  EXPECT_TRUE(result.passed) << result.reason;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerPrecision, testing::ValuesIn(numbers_cases()),
                         [](const auto& each) {
                           std::string name = headroom::to_string(each.param.numbers);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return case_name({each.param.who, each.index}) + "_" + name;
                         });
// Where no backend has anything but f32 there is nothing to test.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LayerPrecision);

TEST(Precision, ABackendThatHasItNotSaysSo) {
  const Layer layer = gaussian_layer(plain_shape(4, 8, 2, 4));
  AttentionOptions options{"naive"};
  options.precision = Precision::bf16;
  try {
    Attention attention = layer_for(layer.shape, layer.weights, options);
    FAIL() << "naive has no bf16";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos) << error.what();
  }
  options.precision = Precision::f32;
  options.dtype = Dtype::bf16;
  EXPECT_THROW(layer_for(layer.shape, layer.weights, options), Unsupported);
}

// ---- calls with bf16 values ----

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
  const Layer layer = gaussian_layer(shape_of(33));
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
  const Layer layer = gaussian_layer(shape_of(9));
  Attention attention = layer_for(layer.shape, layer.weights, *options_);
  Matrix y(9, 80), of_rounded(9, 80);
  attention.forward(layer.x.view(), y.view());
  attention.forward(rounded(layer).x.view(), of_rounded.view());
  EXPECT_TRUE(same_bits(y, of_rounded));
}

TEST_F(Bf16Calls, PaddedRowsAreNeitherReadNorWritten) {
  for (const std::int64_t d_proj : {0, 80}) {
    Case shape = shape_of(12);
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
  const Layer layer = gaussian_layer(shape_of(24));
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
  Case shape = shape_of(7);
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
  const Layer layer = gaussian_layer(shape_of(4));
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
}  // namespace headroom::test
