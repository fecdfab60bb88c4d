// Layers that multiply parts, on emulated tiles, against the oracle: the same packing and
// the same walk as on a processor that has tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_tiles_test {
namespace {

constexpr Precision kByParts[] = {Precision::bf16x9, Precision::bf16x6, Precision::fp16x3,
                                  Precision::bf16x3, Precision::bf16};

AttentionOptions by_tiles(Precision precision, int threads = 1) {
  AttentionOptions options;
  options.backend = threads == 1 ? "xsimd" : "tbb";
  options.threads = threads;
  options.unit = Unit::emulated;
  options.precision = precision;
  return options;
}

Matrix forward(const Layer& layer, const AttentionOptions& options) {
  Attention attention = layer_for(layer.shape, layer.weights, options);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  Call call;
  call.memory = layer.memory.view();
  attention.forward(layer.x.view(), y.view(), call);
  return y;
}

double nrmse_of(const Layer& layer, const Matrix& y) {
  return reference::compare(oracle(layer), y.view(), reference::Data::standard).nrmse;
}

double most_of(const Layer& layer, const Matrix& y) {
  return reference::compare(oracle(layer), y.view(), reference::Data::standard).max_over_rms;
}

// What Gaussian data show, with a factor of two or so to spare (docs/numerics.md has the limits).
double limit_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 8e-3;
    case Precision::bf16x3:
      return 2e-5;
    default:
      return 1e-6;
  }
}

std::vector<Case> shapes() {
  std::vector<Case> all;
  Case shape = plain_shape(40, 70, 3, 24);
  shape.d_proj = 50;
  all.push_back(shape);
  shape = plain_shape(300, 64, 2, 40);  // several blocks of keys
  shape.qkv_bias = true;
  all.push_back(shape);
  shape.causal = false;
  shape.batch = 2;
  shape.tokens = 33;
  all.push_back(shape);
  shape = plain_shape(70, 48, 4, 16);
  shape.kv_heads = 2;
  shape.window = 19;
  shape.rotary.pairs = Rotary::Pairs::halves;
  all.push_back(shape);
  shape = plain_shape(64, 48, 4, 16);
  shape.dropout = 0.3;
  shape.dropout_seed = 11;
  shape.d_proj = 64;
  all.push_back(shape);
  shape = plain_shape(20, 32, 2, 33);
  shape.causal = false;
  shape.d_memory = 40;
  shape.memory_tokens = 90;
  all.push_back(shape);
  shape = plain_shape(18, 1500, 2, 32);  // several stages of the depth
  all.push_back(shape);
  shape = plain_shape(1100, 16, 1, 16);  // two segments of keys
  all.push_back(shape);
  return all;
}

class ByParts : public testing::TestWithParam<std::tuple<Precision, std::size_t>> {};

TEST_P(ByParts, IsAsExactAsItsNameSays) {
  const auto [precision, index] = GetParam();
  const Layer layer = gaussian_layer(shapes()[index]);
  const Matrix y = forward(layer, by_tiles(precision));
  EXPECT_LT(nrmse_of(layer, y), limit_of(precision));
  EXPECT_LT(most_of(layer, y), 10 * limit_of(precision));
  if (precision == Precision::bf16 || precision == Precision::bf16x3) {
    EXPECT_GT(nrmse_of(layer, y), limit_of(precision) / 100) << "computed more exactly than asked";
  }
}

TEST_P(ByParts, HasTheSameBitsOnAnyNumberOfThreads) {
  const auto [precision, index] = GetParam();
  const Layer layer = gaussian_layer(shapes()[index]);
  const Matrix y = forward(layer, by_tiles(precision));
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(same_bits(forward(layer, by_tiles(precision, threads)), y)) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ByParts,
                         testing::Combine(testing::ValuesIn(kByParts),
                                          testing::Range<std::size_t>(0, shapes().size())),
                         [](const auto& param) {
                           return std::string(to_string(std::get<0>(param.param))) + "_" +
                                  std::to_string(std::get<1>(param.param));
                         });

// Fewer products of parts pay from fewer rows on.
std::int64_t border_of(Precision precision) {
  return precision == Precision::bf16     ? 3
         : precision == Precision::bf16x3 ? 11
         : precision == Precision::bf16x6 ? 20
         : precision == Precision::fp16x3 ? 20
                                          : 31;
}

class EveryPrecision : public testing::TestWithParam<Precision> {};

TEST_P(EveryPrecision, SaysWhatItComputesAndWhereItsBorderIs) {
  const Layer layer = gaussian_layer(plain_shape(40, 32, 2, 16));
  const Attention attention = layer_for(layer.shape, layer.weights, by_tiles(GetParam()));
  EXPECT_EQ(attention.choice().precision, GetParam());
  EXPECT_EQ(attention.choice().few_rows, border_of(GetParam()));
  EXPECT_EQ(attention.costs().project_provenance,
            "simd:emulated:" + std::string(to_string(GetParam())));
}

TEST_P(EveryPrecision, TakesTheKernelsOfF32ForFewRows) {
  const std::int64_t few = border_of(GetParam());
  const Layer layer = gaussian_layer(plain_shape(few, 64, 2, 16));
  AttentionOptions options = by_tiles(GetParam());
  const Attention attention = layer_for(layer.shape, layer.weights, options);
  EXPECT_EQ(attention.costs().project_provenance.find("emulated"), std::string::npos);
  const Matrix y = forward(layer, options);
  options.precision = Precision::f32;
  EXPECT_TRUE(same_bits(forward(layer, options), y));
}

// Rows that were reached by calls of many rows each, with a cache.
TEST_P(EveryPrecision, HasTheSameBitsAmongCallsOfManyRows) {
  const Layer layer = gaussian_layer(plain_shape(300, 48, 2, 24));
  const Matrix whole = forward(layer, by_tiles(GetParam()));
  Attention attention = layer_for(layer.shape, layer.weights, by_tiles(GetParam(), 2));
  KeyValueCache cache(attention, {1, 300});
  Matrix y(300, layer.shape.output_width());
  std::int64_t first = 0;
  for (const std::int64_t count : {33, 100, 34, 133}) {
    attention.forward(layer.x.view().slice(first, count), y.view().slice(first, count),
                      {.cache = &cache});
    first += count;
  }
  EXPECT_TRUE(same_bits(y, whole));
}

TEST_P(EveryPrecision, DoesNotLookAhead) {
  Layer layer = gaussian_layer(plain_shape(90, 48, 2, 24));
  const Matrix before = forward(layer, by_tiles(GetParam()));
  for (const float value : {3.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 1e-40F}) {
    layer.x.view().row(70)[5] = value;
    const Matrix after = forward(layer, by_tiles(GetParam()));
    EXPECT_TRUE(same_bits(rows(before, 0, 70), rows(after, 0, 70))) << value;
    EXPECT_FALSE(same_bits(rows(before, 70, 20), rows(after, 70, 20))) << value;
  }
}

// Values on both sides of every border of what parts can carry.
TEST_P(EveryPrecision, TakesTheKernelsOfF32ForValuesThatPartsCannotCarry) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Case shape = plain_shape(40, 48, 1, 48);
  for (const float value : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 3.4e38F, 3.39e38F,
                            std::numeric_limits<float>::max(), 0x1p-105F, -0x1p-105F, 1e-40F}) {
    Layer layer = gaussian_layer(shape);
    for (int c = 0; c < 48; ++c) layer.x.view().row(20)[c] = value;
    AttentionOptions options = by_tiles(GetParam());
    options.precision = Precision::f32;
    const Matrix exact = forward(layer, options);
    const Matrix y = forward(layer, by_tiles(GetParam()));
    for (std::int64_t r = 0; r < 40; ++r) {
      for (std::int64_t c = 0; c < 48; ++c) {
        const float wanted = exact.view().row(r)[c];
        const float found = y.view().row(r)[c];
        if (std::isfinite(wanted)) {
          EXPECT_NEAR(found, wanted, 0.1) << value << " at " << r << ", " << c;
        } else if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(found)) << value << " at " << r << ", " << c;
        } else {
          EXPECT_EQ(found, wanted) << value << " at " << r << ", " << c;
        }
      }
    }
  }
}

// The scores of such queries and keys are ordinary numbers, but parts cannot carry the queries.
TEST_P(EveryPrecision, TakesTheKernelsOfF32ForQueriesThatPartsCannotCarry) {
  Case shape = plain_shape(300, 48, 4, 16);
  shape.kv_heads = 2;
  shape.causal = true;
  Layer layer = gaussian_layer(shape);
  for (float& each : layer.weights.query.values) each *= 0x1p-120F;
  for (float& each : layer.weights.key.values) each *= 0x1p120F;
  const Matrix y = forward(layer, by_tiles(GetParam()));
  EXPECT_LT(nrmse_of(layer, y), limit_of(GetParam()));
  EXPECT_LT(most_of(layer, y), 10 * limit_of(GetParam()));
}

// Which rows those are depends on queries and positions, and on nothing else.
TEST_P(EveryPrecision, HasTheSameBitsHoweverSuchQueriesAndKeysAreReached) {
  Case shape = plain_shape(300, 48, 4, 16);
  shape.kv_heads = 2;
  Layer layer = gaussian_layer(shape);
  // Of one head each, in some rows: only these columns of x reach it.
  for (const auto& [weights, head] :
       {std::pair{&layer.weights.query, 3}, {&layer.weights.key, 1}}) {
    for (std::int64_t i = 0; i < 48; ++i) {
      if (i != 5) std::fill_n(weights->view().row(i) + 16 * head, 16, 0.0F);
    }
  }
  for (const std::int64_t row : {40, 41, 270}) layer.x.view().row(row)[5] = 0x1p-110F;
  const Matrix whole = forward(layer, by_tiles(GetParam()));
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(same_bits(forward(layer, by_tiles(GetParam(), threads)), whole)) << threads;
  }
  Attention attention = layer_for(layer.shape, layer.weights, by_tiles(GetParam(), 2));
  KeyValueCache cache(attention, {1, 300});
  Matrix y(300, layer.shape.output_width());
  std::int64_t first = 0;
  for (const std::int64_t count : {33, 100, 34, 133}) {
    attention.forward(layer.x.view().slice(first, count), y.view().slice(first, count),
                      {.cache = &cache});
    first += count;
  }
  EXPECT_TRUE(same_bits(y, whole));
}

INSTANTIATE_TEST_SUITE_P(Precisions, EveryPrecision, testing::ValuesIn(kByParts),
                         [](const auto& param) { return std::string(to_string(param.param)); });

// Weights and inputs that bfloat16 holds, of which keys and values are copies.
Layer layer_of_halves(const Case& shape) {
  Layer layer = gaussian_layer(shape);
  const auto round = [](Matrix& matrix) {
    for (float& each : matrix.values) each = round_to_bf16(each).value();
  };
  round(layer.x);
  round(layer.weights.query);
  if (shape.d_proj > 0) round(layer.weights.output);
  for (Matrix* copy : {&layer.weights.key, &layer.weights.value}) {
    for (std::int64_t r = 0; r < copy->rows; ++r) {
      for (std::int64_t c = 0; c < copy->cols; ++c) copy->view().row(r)[c] = r == c ? 1.0F : 0.0F;
    }
  }
  return layer;
}

class StoredAsHalves : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const std::vector<Isa> here = available_isas();
    if (std::find(here.begin(), here.end(), GetParam()) == here.end()) {
      GTEST_SKIP() << "this machine has no " << to_string(GetParam());
    }
  }
  static AttentionOptions options(Dtype dtype, int threads = 1) {
    AttentionOptions options = by_tiles(Precision::f32, threads);
    options.isa = GetParam();
    options.dtype = dtype;
    return options;
  }
};

TEST_P(StoredAsHalves, HasTheBitsOfFloatsWhereNothingIsRounded) {
  for (const std::int64_t tokens : {1, 5, 40, 300}) {
    Case shape = plain_shape(tokens, 66, 3, 22);
    shape.d_proj = 35;
    const Layer layer = layer_of_halves(shape);
    const Matrix floats = forward(layer, options(Dtype::f32));
    EXPECT_TRUE(same_bits(forward(layer, options(Dtype::bf16)), floats)) << tokens;
  }
}

TEST_P(StoredAsHalves, HasTheSameBitsHoweverATokenIsReached) {
  Case shape = plain_shape(1100, 32, 2, 20);
  shape.rotary.pairs = Rotary::Pairs::neighbours;
  const Layer layer = gaussian_layer(shape);
  const Matrix whole = forward(layer, options(Dtype::bf16));
  Attention attention = layer_for(layer.shape, layer.weights, options(Dtype::bf16, 3));
  KeyValueCache cache(attention, {1, 1100});
  Matrix y(1100, layer.shape.output_width());
  std::int64_t first = 0;
  for (const std::int64_t count : {1, 30, 1000, 1, 3, 65}) {
    attention.forward(layer.x.view().slice(first, count), y.view().slice(first, count),
                      {.cache = &cache});
    first += count;
  }
  EXPECT_TRUE(same_bits(y, whole));
}

TEST_P(StoredAsHalves, TakesHalfTheMemory) {
  const Layer layer = gaussian_layer(plain_shape(8, 64, 2, 32));
  const Attention floats = layer_for(layer.shape, layer.weights, options(Dtype::f32));
  const Attention halves = layer_for(layer.shape, layer.weights, options(Dtype::bf16));
  EXPECT_EQ(2 * halves.costs().packed_bytes, floats.costs().packed_bytes);
  EXPECT_EQ(2 * KeyValueCache(halves, {1, 1024}).bytes(), KeyValueCache(floats, {1, 1024}).bytes());
}

TEST_P(StoredAsHalves, IsAsExactAsEightBits) {
  Case shape = plain_shape(100, 64, 2, 32);
  shape.d_proj = 64;
  Layer layer = gaussian_layer(shape);
  const Matrix y = forward(layer, options(Dtype::bf16));
  EXPECT_LT(nrmse_of(layer, y), limit_of(Precision::bf16));
  EXPECT_GT(nrmse_of(layer, y), limit_of(Precision::bf16) / 100);
}

TEST_P(StoredAsHalves, KeepsNansAndInfinities) {
  Layer layer = layer_of_halves(plain_shape(6, 24, 1, 24));
  layer.x.view().row(3)[2] = std::numeric_limits<float>::quiet_NaN();
  layer.x.view().row(4)[2] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(same_bits(forward(layer, options(Dtype::bf16)), forward(layer, options(Dtype::f32))));
}

std::vector<Isa> levels() {
#if defined(__aarch64__)
  return {Isa::neon};
#else
  return {Isa::sse42, Isa::avx2, Isa::avx512};
#endif
}

INSTANTIATE_TEST_SUITE_P(Levels, StoredAsHalves, testing::ValuesIn(levels()),
                         [](const auto& param) {
                           std::string name(to_string(param.param));
                           std::erase(name, '.');
                           return name;
                         });

TEST(StoredAsHalvesByTiles, HasTheBitsOfFloatsWhereNothingIsRounded) {
  const Layer layer = layer_of_halves(plain_shape(90, 66, 3, 22));
  for (const Precision precision : kByParts) {
    AttentionOptions options = by_tiles(precision);
    const Matrix floats = forward(layer, options);
    options.dtype = Dtype::bf16;
    EXPECT_TRUE(same_bits(forward(layer, options), floats)) << to_string(precision);
  }
}

TEST(Precision, IsBetterThanF32WithSixProducts) {
  const Layer layer = gaussian_layer(plain_shape(64, 700, 2, 64));
  AttentionOptions options = by_tiles(Precision::f32);
  const double plain = nrmse_of(layer, forward(layer, options));
  EXPECT_LT(nrmse_of(layer, forward(layer, by_tiles(Precision::bf16x6))), plain);
}

TEST(Precision, IsComputedAsF32WhereThereAreNoTiles) {
  AttentionOptions options = by_tiles(Precision::bf16x6);
  options.unit = Unit::none;
  const Choice choice = choose_for(plain_shape(40, 32, 2, 16), options);
  EXPECT_EQ(choice.precision, Precision::f32);
  EXPECT_NE(choice.precision_reason.find("bf16x6"), std::string::npos) << choice.precision_reason;
}

TEST(Precision, IsDeclinedByABackendThatHasItNot) {
  AttentionOptions options = by_tiles(Precision::bf16);
  options.backend = "naive";
  EXPECT_THROW(choose_for(plain_shape(40, 32, 2, 16), options), Unsupported);
}

}  // namespace
}  // namespace headroom::test::layer_tiles_test
