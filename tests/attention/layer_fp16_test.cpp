// Layers that multiply two parts of fp16, on emulated tiles, against the oracle: data that such
// parts carry, data that they do not, and data drawn to come between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_fp16_test {
namespace {

using Random = std::mt19937_64;

AttentionOptions options_of(Precision precision, int threads = 1) {
  AttentionOptions options;
  options.backend = threads == 1 ? "xsimd" : "tbb";
  options.threads = threads;
  options.unit = Unit::emulated;
  options.precision = precision;
  return options;
}

Matrix forward(const Layer& layer, Precision precision, int threads = 1) {
  Attention attention = layer_for(layer.shape, layer.weights, options_of(precision, threads));
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return y;
}

reference::Comparison check(const Layer& layer, const reference::Expected& expected,
                            Precision precision) {
  return reference::compare(expected, forward(layer, precision).view(),
                            reference::Data::adversarial, {precision});
}

int below(Random& random, int count) {
  return static_cast<int>(random() % static_cast<unsigned>(count));
}
float uniform(Random& random, float least, float most) {
  return std::uniform_real_distribution<float>(least, most)(random);
}
float normal(Random& random) { return std::normal_distribution<float>()(random); }

std::vector<Matrix*> weights_of(Layer& layer) {
  std::vector<Matrix*> all{&layer.weights.query, &layer.weights.key, &layer.weights.value};
  if (layer.shape.d_proj > 0) all.push_back(&layer.weights.output);
  return all;
}
std::vector<Matrix*> first_weights_of(Layer& layer) {
  return {&layer.weights.query, &layer.weights.key, &layer.weights.value};
}

void scale_row(Matrix& matrix, std::int64_t row, float factor) {
  for (std::int64_t c = 0; c < matrix.cols; ++c) matrix.view().row(row)[c] *= factor;
}
void scale_column(Matrix& matrix, std::int64_t column, float factor) {
  for (std::int64_t r = 0; r < matrix.rows; ++r) matrix.view().row(r)[column] *= factor;
}

/// Channels of x grow over `binades`, and those of the weights shrink.
void oppose(Layer& layer, Random& random, float binades) {
  for (std::int64_t i = 0; i < layer.shape.d_in; ++i) {
    const float factor = std::exp2(uniform(random, -binades / 2, binades / 2));
    scale_column(layer.x, i, factor);
    for (Matrix* w : first_weights_of(layer)) scale_row(*w, i, 1 / factor);
  }
}

/// Scales by channels, rows and columns that are log-normal, and some channels far out.
void train(Layer& layer, Random& random, float outlier) {
  for (std::int64_t i = 0; i < layer.shape.d_in; ++i) {
    scale_column(layer.x, i, std::exp(0.7F * normal(random)));
    if (below(random, 64) == 0) scale_column(layer.x, i, outlier);
  }
  for (std::int64_t r = 0; r < layer.x.rows; ++r) {
    scale_row(layer.x, r, std::exp(0.3F * normal(random)));
  }
  for (Matrix* w : weights_of(layer)) {
    for (std::int64_t c = 0; c < w->cols; ++c) scale_column(*w, c, std::exp(0.5F * normal(random)));
  }
}

/// Largest logit of the layer, about: without biases and positions.
double largest_logit(const Layer& layer) {
  const Case& shape = layer.shape;
  const auto product = [&](const Matrix& w) {
    std::vector<double> y(static_cast<std::size_t>(layer.x.rows * w.cols));
    for (std::int64_t r = 0; r < layer.x.rows; ++r) {
      for (std::int64_t i = 0; i < w.rows; ++i) {
        const double x = layer.x.view().row(r)[i];
        for (std::int64_t c = 0; c < w.cols; ++c) {
          y[static_cast<std::size_t>(r * w.cols + c)] += x * w.view().row(i)[c];
        }
      }
    }
    return y;
  };
  const std::vector<double> q = product(layer.weights.query);
  const std::vector<double> k = product(layer.weights.key);
  double most = 0;
  const std::int64_t width = shape.d_out;
  for (std::int64_t h = 0; h < shape.heads; ++h) {
    for (std::int64_t r = 0; r < layer.x.rows; ++r) {
      for (std::int64_t s = 0; s < layer.x.rows; ++s) {
        double sum = 0;
        for (std::int64_t c = h * shape.head_dim(); c < (h + 1) * shape.head_dim(); ++c) {
          sum += q[static_cast<std::size_t>(r * width + c)] *
                 k[static_cast<std::size_t>(s * width + c)];
        }
        most = std::max(most, std::abs(sum));
      }
    }
  }
  return most / std::sqrt(static_cast<double>(shape.head_dim()));
}

/// Queries are scaled until logits reach at most so much.
void limit_logits(Layer& layer, float most) {
  const double found = largest_logit(layer);
  if (!(found > most)) return;
  const auto factor = static_cast<float>(most / found);
  for (float& each : layer.weights.query.values) each *= factor;
}

Case wide_shape() {
  Case shape = plain_shape(40, 768, 2, 32);
  shape.d_proj = 64;
  return shape;
}

// ---- data that parts carry ----

TEST(Fp16Layers, AreAsExactAsF32OnGaussianData) {
  for (const std::int64_t depth : {64, 700, 768, 2000}) {
    const Layer layer = gaussian_layer(plain_shape(40, depth, 2, 32));
    const reference::Expected expected = oracle(layer);
    const auto nrmse = [&](Precision precision) {
      return reference::compare(expected, forward(layer, precision).view(),
                                reference::Data::standard)
          .nrmse;
    };
    EXPECT_LE(nrmse(Precision::fp16x3), nrmse(Precision::f32)) << depth;
  }
}

TEST(Fp16Layers, AreAsExactAsF32OnDataLikeThatOfModels) {
  for (const float outlier : {1.0F, 40.0F, 300.0F, 1e4F}) {
    Layer layer = gaussian_layer(wide_shape());
    Random random(3);
    train(layer, random, outlier);
    limit_logits(layer, 20);
    const reference::Expected expected = oracle(layer);
    const reference::Comparison parts = check(layer, expected, Precision::fp16x3);
    const reference::Comparison floats = check(layer, expected, Precision::f32);
    EXPECT_TRUE(parts.passed) << outlier << ": " << parts.reason;
    EXPECT_LE(parts.nrmse, 1.2 * floats.nrmse) << outlier;
  }
}

// From some 20 binades on the range check gives all of it to f32.
TEST(Fp16Layers, AreAsExactAsF32WhereChannelsOpposeEachOther) {
  for (const float binades : {10.0F, 20.0F, 24.0F, 30.0F, 40.0F}) {
    Layer layer = gaussian_layer(wide_shape());
    Random random(4);
    oppose(layer, random, binades);
    limit_logits(layer, 20);
    const reference::Expected expected = oracle(layer);
    const reference::Comparison parts = check(layer, expected, Precision::fp16x3);
    const reference::Comparison floats = check(layer, expected, Precision::f32);
    EXPECT_TRUE(parts.passed) << binades << ": " << parts.reason;
    EXPECT_LE(parts.nrmse, 1.5 * floats.nrmse) << binades;
  }
}

TEST(Fp16Layers, OfColumnsAndRowsOfZeros) {
  Layer layer = gaussian_layer(wide_shape());
  for (Matrix* w : weights_of(layer)) {
    for (const std::int64_t column : {0, 5, 31, 40}) scale_column(*w, column, 0);
    // Beside zeros a column far below the others.
    scale_column(*w, 33, 0x1p-40F);
  }
  for (const std::int64_t row : {0, 17, 39}) scale_row(layer.x, row, 0);
  for (std::size_t i = 0; i < layer.x.values.size(); i += 2) layer.x.values[i] = 0;
  const reference::Comparison parts = check(layer, oracle(layer), Precision::fp16x3);
  EXPECT_TRUE(parts.passed) << parts.reason;
}

TEST(Fp16Layers, OfDenormalAndOfHugeNumbers) {
  for (const auto& [of_x, of_weights] : {std::pair{0x1p-130F, 0x1p100F},
                                         {0x1p-110F, 0x1p100F},
                                         {0x1p100F, 0x1p-110F},
                                         {0x1p100F, 0x1p-130F},
                                         {0x1p60F, 0x1p-60F}}) {
    Layer layer = gaussian_layer(plain_shape(40, 96, 2, 24));
    for (float& each : layer.x.values) each *= of_x;
    for (Matrix* w : first_weights_of(layer)) {
      for (float& each : w->values) each *= of_weights;
    }
    limit_logits(layer, 20);
    const reference::Comparison parts = check(layer, oracle(layer), Precision::fp16x3);
    EXPECT_TRUE(parts.passed) << of_x << ": " << parts.reason;
  }
}

TEST(Fp16Layers, NansAndInfinitiesReachTheRowsThatDependOnThem) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        __builtin_bit_cast(float, 0x7f800001U), __builtin_bit_cast(float, 0xffffffffU)}) {
    Layer layer = gaussian_layer(wide_shape());
    const Matrix before = forward(layer, Precision::fp16x3);
    layer.x.view().row(20)[700] = value;
    const Matrix after = forward(layer, Precision::fp16x3);
    const Matrix floats = forward(layer, Precision::f32);
    for (std::int64_t r = 0; r < 40; ++r) {
      for (std::int64_t c = 0; c < after.cols; ++c) {
        const float found = after.view().row(r)[c];
        if (r < 20) {
          ASSERT_EQ(found, before.view().row(r)[c]) << r << ", " << c;
        } else {
          ASSERT_EQ(std::isnan(found), std::isnan(floats.view().row(r)[c])) << r << ", " << c;
        }
      }
    }
  }
}

TEST(Fp16Layers, SayWhatMultipliedThem) {
  const Layer layer = gaussian_layer(wide_shape());
  const Attention attention = layer_for(layer.shape, layer.weights, options_of(Precision::fp16x3));
  EXPECT_EQ(attention.choice().precision, Precision::fp16x3);
  EXPECT_EQ(attention.costs().project_provenance, "simd:emulated:fp16x3");
  EXPECT_EQ(attention.costs().attend_provenance, "simd:emulated:fp16x3");
}

TEST(Fp16Layers, AreComputedAsF32WhereNoUnitHasThem) {
  AttentionOptions options = options_of(Precision::fp16x3);
  options.unit = Unit::none;
  const Choice choice = choose_for(wide_shape(), options);
  EXPECT_EQ(choice.precision, Precision::f32);
  EXPECT_NE(choice.precision_reason.find("fp16x3"), std::string::npos) << choice.precision_reason;
}

// ---- data drawn to come between ----

float heavy(Random& random) {
  const float chi = normal(random) * normal(random) + 1e-3F;
  return normal(random) / std::sqrt(std::abs(chi));
}

/// One of many ways to be hard, or several at once.
Layer adversarial_layer(std::uint64_t seed) {
  Random random(seed);
  Case shape =
      plain_shape(21 + below(random, 30), 4 + below(random, below(random, 4) == 0 ? 400 : 90),
                  1 + below(random, 2), 3 + below(random, 30));
  shape.causal = below(random, 2) == 0;
  shape.d_proj = below(random, 2) == 0 ? 0 : 1 + below(random, 70);
  Layer layer = gaussian_layer(shape, seed + 100);
  if (below(random, 6) == 0) {
    for (float& each : layer.x.values) each = heavy(random);
  }
  if (below(random, 6) == 0) {
    for (Matrix* w : weights_of(layer)) {
      for (float& each : w->values) each = heavy(random);
    }
  }
  if (below(random, 4) == 0) train(layer, random, std::exp2(uniform(random, 0, 30)));
  if (below(random, 3) == 0) oppose(layer, random, uniform(random, 4, 60));
  if (below(random, 5) == 0) {  // magnitudes over many binades
    for (float& each : layer.x.values) each *= std::exp2(uniform(random, -40, 0));
  }
  if (below(random, 5) == 0) {
    for (Matrix* w : weights_of(layer)) {
      for (std::int64_t c = 0; c < w->cols; ++c) {
        scale_column(*w, c, std::exp2(uniform(random, -24, 0)));
      }
    }
  }
  if (below(random, 5) == 0) {
    const int share = 1 + below(random, 9);
    for (float& each : layer.x.values) each = below(random, 10) < share ? 0 : each;
  }
  if (below(random, 6) == 0) {
    for (Matrix* w : weights_of(layer)) {
      for (std::int64_t c = 0; c < w->cols; ++c) {
        if (below(random, 3) == 0) scale_column(*w, c, 0);
      }
    }
  }
  if (below(random, 6) == 0) {  // neighbours that cancel
    for (std::int64_t i = 0; i + 1 < shape.d_in; i += 2) {
      for (std::int64_t r = 0; r < layer.x.rows; ++r) {
        float* row = layer.x.view().row(r);
        row[i + 1] = -row[i] * (1 + 1e-3F * normal(random));
      }
      for (Matrix* w : first_weights_of(layer)) {
        std::copy_n(w->view().row(i), w->cols, w->view().row(i + 1));
      }
    }
  }
  if (below(random, 6) == 0) {  // values just at the borders of the counts, beside a large one
    const float borders[] = {0x1p-3F,  0x1p-12F, 0x1p-16F, 0x1.fffffep-17F,
                             0x1p-17F, 0x1p-18F, 0x1p-30F};
    for (float& each : layer.x.values) {
      if (below(random, 2) == 0) each = borders[below(random, 7)] * uniform(random, 1, 1.01F);
    }
  }
  if (below(random, 4) == 0) {  // channels of queries and keys that oppose each other
    const float binades = uniform(random, 4, 50);
    for (std::int64_t c = 0; c < shape.d_out; ++c) {
      const float factor = std::exp2(uniform(random, -binades / 2, binades / 2));
      scale_column(layer.weights.query, c, factor);
      scale_column(layer.weights.key, c, 1 / factor);
    }
  }
  if (below(random, 5) == 0) {  // tokens, and with them values, of many sizes
    const float binades = uniform(random, 2, 40);
    for (std::int64_t r = 0; r < layer.x.rows; ++r) {
      scale_row(layer.x, r, std::exp2(uniform(random, -binades, 0)));
    }
  }
  if (below(random, 8) == 0) {
    const float up = std::exp2(uniform(random, -100, 100));
    for (float& each : layer.x.values) each *= up;
    for (Matrix* w : first_weights_of(layer)) {
      for (float& each : w->values) each /= up;
    }
  }
  limit_logits(layer, uniform(random, 1, 60));
  return layer;
}

int repeats() {
  const char* text = std::getenv("HEADROOM_TEST_REPEATS");
  return text == nullptr ? 300 : std::stoi(text);
}

TEST(Fp16Layers, DrawnToBeHardAreWithinTheBoundOfTheirElements) {
  double worst = 0;
  double worst_of_f32 = 0;
  int failed = 0;
  for (int seed = 0; seed < repeats(); ++seed) {
    const Layer layer = adversarial_layer(static_cast<std::uint64_t>(seed));
    const reference::Expected expected = oracle(layer);
    const reference::Comparison floats = check(layer, expected, Precision::f32);
    const reference::Comparison parts = check(layer, expected, Precision::fp16x3);
    worst = std::max(worst, parts.bound_ratio);
    worst_of_f32 = std::max(worst_of_f32, floats.bound_ratio);
    if (parts.passed || !floats.passed) continue;
    ++failed;
    EXPECT_TRUE(parts.passed) << "seed " << seed << " (" << layer.shape.id()
                              << "): " << parts.reason;
  }
  EXPECT_EQ(failed, 0);
  RecordProperty("worst_bound_ratio", std::to_string(worst));
  RecordProperty("worst_bound_ratio_of_f32", std::to_string(worst_of_f32));
  std::printf("worst share of a bound: %.3f, of f32: %.3f\n", worst, worst_of_f32);
}

TEST(Fp16Layers, DrawnToBeHardHaveTheSameBitsOnAnyNumberOfThreads) {
  for (int seed = 0; seed < 40; ++seed) {
    const Layer layer = adversarial_layer(static_cast<std::uint64_t>(seed) + 50'000);
    const Matrix y = forward(layer, Precision::fp16x3);
    for (const int threads : {2, 3, 8}) {
      EXPECT_TRUE(same_bits(forward(layer, Precision::fp16x3, threads), y)) << seed;
    }
  }
}

}  // namespace
}  // namespace headroom::test::layer_fp16_test
