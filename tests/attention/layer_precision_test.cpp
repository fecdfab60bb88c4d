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
#include "support/rounded_layer.hpp"

namespace headroom::test::layer_precision_test {
namespace {

using reference::Comparison;
using reference::Data;

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
  EXPECT_EQ(choose_for(layer_of_96(40), options).unit, Unit::none);
  options.precision = Precision::bf16x6;
  EXPECT_EQ(choose_for(layer_of_96(40), options).unit, Unit::emulated);
  options.unit = Unit::none;
  const Choice choice = choose_for(layer_of_96(40), options);
  EXPECT_EQ(choice.precision, Precision::f32);
  EXPECT_EQ(choice.unit, Unit::none);
}

// A unit may multiply rows in groups, and ask for what comes next in another way among few of them.
// Sequences of one token: attention has no part in it.
TEST(LayerUnit, ARowHasTheSameBitsAmongAnyNumberOfRows) {
  Case shape = plain_shape(1, 330, 3, 33);
  shape.batch = 40;
  shape.d_proj = 70;
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options;
  options.backend = "xsimd";
  options.isa = available_isas().back();
  options.precision = Precision::bf16;
  options.few_rows = 0;
  const std::vector<std::int64_t> lengths(40, 1);
  for (const Unit unit : available_units(*options.isa)) {
    options.unit = unit;
    Attention attention = layer_for(shape, layer.weights, options);
    Matrix whole(40, shape.d_proj);
    attention.forward(layer.x.view(), whole.view());
    for (std::int64_t count = 1; count < 40; ++count) {
      Matrix some(count, shape.d_proj);
      const std::span<const std::int64_t> few(lengths.data(), static_cast<std::size_t>(count));
      attention.forward(layer.x.view().slice(0, count), some.view(), {.lengths = few});
      EXPECT_TRUE(same_bits(some.view(), rows(whole, 0, count)))
          << to_string(unit) << ", " << count;
    }
    EXPECT_LT(reference::compare(oracle(layer), whole.view(), Data::standard).nrmse, 8e-3)
        << to_string(unit);
  }
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
  const Layer layer = layer_of(layer_of_96(70));
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
    Case shape = layer_of_96(45);
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
  const Layer layer = layer_of(layer_of_96(40));
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

}  // namespace
}  // namespace headroom::test::layer_precision_test
