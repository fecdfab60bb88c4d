// Properties of attention that hold for every backend, without a reference result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_invariants_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Sums over this few tokens and columns round by less than this share of the largest value.
double sum_slack(Precision precision) {
  if (precision == Precision::bf16) return 0x1p-7;
  return precision == Precision::bf16x3 ? 0x1p-14 : 1e-6;
}

Case small_shape() {
  Case shape = plain_shape(37, 40, 3, 20);
  shape.d_proj = 32;
  return shape;
}

bool all_nan(ConstMatrixView view) {
  for (std::int64_t r = 0; r < view.rows; ++r) {
    if (!std::all_of(view.row(r), view.row(r) + view.cols, [](float v) { return std::isnan(v); })) {
      return false;
    }
  }
  return true;
}

bool all_finite(ConstMatrixView view) {
  for (std::int64_t r = 0; r < view.rows; ++r) {
    if (!std::all_of(view.row(r), view.row(r) + view.cols,
                     [](float v) { return std::isfinite(v); })) {
      return false;
    }
  }
  return true;
}

/// `x W` in double, for the values of a layer without value bias.
std::vector<double> values_of(const Layer& layer) {
  const Matrix& w = layer.weights.value;
  std::vector<double> v(static_cast<std::size_t>(layer.shape.rows() * w.cols), 0.0);
  for (std::int64_t r = 0; r < layer.shape.rows(); ++r) {
    for (std::int64_t i = 0; i < w.rows; ++i) {
      for (std::int64_t c = 0; c < w.cols; ++c) {
        v[static_cast<std::size_t>(r * w.cols + c)] +=
            static_cast<double>(layer.x.view().row(r)[i]) * w.view().row(i)[c];
      }
    }
  }
  return v;
}

class LayerInvariants : public LayerTest {
 protected:
  /// Rows of sequence 1 before token `j` and all of sequence 0 must not depend on token `j` of
  /// sequence 1.
  void expect_hidden_from_earlier_rows(float planted) {
    Case shape = small_shape();
    shape.batch = 2;
    Layer layer = gaussian_layer(shape);
    const Matrix before = run(GetParam(), layer);
    for (const std::int64_t j : {0, 1, 15, 16, 31, 32, 36}) {
      const std::int64_t row = shape.tokens + j;
      Layer changed = layer;
      std::fill_n(changed.x.view().row(row), shape.d_in, planted);
      const Matrix after = run(GetParam(), changed);
      EXPECT_TRUE(same_bits(rows(before, 0, row), rows(after, 0, row))) << "token " << j;
      EXPECT_TRUE(all_finite(rows(after, 0, row))) << "token " << j;
      EXPECT_FALSE(same_bits(rows(before, row, 1), rows(after, row, 1))) << "token " << j;
      if (std::isnan(planted)) {
        EXPECT_TRUE(all_nan(rows(after, row, shape.tokens - j))) << "token " << j;
      }
    }
  }
};

TEST_P(LayerInvariants, ALaterTokenChangesNoEarlierRow) { expect_hidden_from_earlier_rows(2.5F); }

TEST_P(LayerInvariants, NanReachesExactlyTheRowsThatDependOnIt) {
  expect_hidden_from_earlier_rows(kNan);
}

TEST_P(LayerInvariants, InfinityIsHiddenFromEarlierRows) {
  expect_hidden_from_earlier_rows(kInfinity);
}

TEST_P(LayerInvariants, UnmaskedNanReachesItsWholeSequenceAndNoOther) {
  Case shape = small_shape();
  shape.batch = 3;
  shape.causal = false;
  Layer layer = gaussian_layer(shape);
  const Matrix before = run(GetParam(), layer);
  layer.x.view().row(shape.tokens + 20)[3] = kNan;
  const Matrix after = run(GetParam(), layer);
  const std::int64_t t = shape.tokens;
  EXPECT_TRUE(same_bits(rows(before, 0, t), rows(after, 0, t)));
  EXPECT_TRUE(all_nan(rows(after, t, t)));
  EXPECT_TRUE(same_bits(rows(before, 2 * t, t), rows(after, 2 * t, t)));
}

TEST_P(LayerInvariants, PermutingTokensPermutesRowsWithoutMask) {
  Case shape = small_shape();
  shape.causal = false;
  const Layer layer = gaussian_layer(shape);
  Layer permuted = layer;
  const Matrix y = run(GetParam(), layer);
  Matrix expected = y;
  for (std::int64_t r = 0; r < shape.tokens; ++r) {
    const std::int64_t from = (r * 10 + 3) % shape.tokens;  // 37 is prime, so this is a permutation
    std::copy_n(layer.x.view().row(from), shape.d_in, permuted.x.view().row(r));
    std::copy_n(y.view().row(from), y.cols, expected.view().row(r));
  }
  EXPECT_TRUE(agree(run(GetParam(), permuted), expected, GetParam().precision));
}

// A shift of every key by b adds q.b to all scores of a row.
TEST_P(LayerInvariants, AConstantAddedToAllScoresChangesNothing) {
  Case shape = small_shape();
  shape.qkv_bias = true;
  Layer layer = gaussian_layer(shape);
  const Matrix before = run(GetParam(), layer);
  for (float& b : layer.weights.key_bias) b += 1.5F;
  EXPECT_TRUE(agree(run(GetParam(), layer), before, GetParam().precision));
}

TEST_P(LayerInvariants, ConstantValuesGiveThatConstant) {
  Case shape = small_shape();
  shape.d_proj = 0;
  shape.qkv_bias = true;
  Layer layer = gaussian_layer(shape);
  std::fill(layer.weights.value.values.begin(), layer.weights.value.values.end(), 0.0F);
  const Matrix y = run(GetParam(), layer);
  Matrix expected = y;
  for (std::int64_t r = 0; r < y.rows; ++r) {
    std::copy(layer.weights.value_bias.begin(), layer.weights.value_bias.end(),
              expected.view().row(r));
  }
  EXPECT_TRUE(agree(y, expected, GetParam().precision));
}

TEST_P(LayerInvariants, ZeroQueriesGiveTheRunningMeanOfTheValues) {
  Case shape = small_shape();
  shape.d_proj = 0;
  Layer layer = gaussian_layer(shape);
  std::fill(layer.weights.query.values.begin(), layer.weights.query.values.end(), 0.0F);
  const std::vector<double> v = values_of(layer);
  Matrix expected(shape.rows(), shape.d_out);
  for (std::int64_t c = 0; c < shape.d_out; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < shape.tokens; ++r) {
      sum += v[static_cast<std::size_t>(r * shape.d_out + c)];
      expected.view().row(r)[c] = static_cast<float>(sum / static_cast<double>(r + 1));
    }
  }
  EXPECT_TRUE(agree(run(GetParam(), layer), expected, GetParam().precision));
}

TEST_P(LayerInvariants, OutputsStayInTheHullOfTheValues) {
  Case shape = small_shape();
  shape.d_proj = 0;
  Layer layer = gaussian_layer(shape);
  for (float& w : layer.weights.query.values) w *= 4.0F;
  const std::vector<double> v = values_of(layer);
  const auto [least, most] = std::minmax_element(v.begin(), v.end());
  const double slack = sum_slack(GetParam().precision) * std::max(-*least, *most);
  const Matrix y = run(GetParam(), layer);
  for (std::int64_t c = 0; c < shape.d_out; ++c) {
    double low = v[static_cast<std::size_t>(c)];
    double high = low;
    for (std::int64_t r = 0; r < shape.tokens; ++r) {
      low = std::min(low, v[static_cast<std::size_t>(r * shape.d_out + c)]);
      high = std::max(high, v[static_cast<std::size_t>(r * shape.d_out + c)]);
      const float found = y.view().row(r)[c];
      ASSERT_TRUE(low - slack <= found && found <= high + slack)
          << "row " << r << ", column " << c << ": " << found << " is not in [" << low << ", "
          << high << "]";
    }
  }
}

TEST_P(LayerInvariants, LinearInTheValues) {
  Case shape = small_shape();
  shape.d_proj = 0;
  Layer first = gaussian_layer(shape, 7);
  Layer second = first;
  second.weights.value = gaussian_weights(shape, 70).value;
  Layer sum = first;
  for (std::size_t i = 0; i < sum.weights.value.values.size(); ++i) {
    sum.weights.value.values[i] += second.weights.value.values[i];
  }
  Matrix expected = run(GetParam(), first);
  const Matrix other = run(GetParam(), second);
  for (std::size_t i = 0; i < expected.values.size(); ++i) expected.values[i] += other.values[i];
  EXPECT_TRUE(agree(run(GetParam(), sum), expected, GetParam().precision));
}

TEST_P(LayerInvariants, DoublingTheValuesDoublesTheOutputToTheBit) {
  Case shape = small_shape();
  shape.d_proj = 0;
  Layer layer = gaussian_layer(shape);
  Matrix expected = run(GetParam(), layer);
  for (float& v : expected.values) v *= 2.0F;
  for (float& w : layer.weights.value.values) w *= 2.0F;
  EXPECT_TRUE(same_bits(run(GetParam(), layer), expected));
}

TEST_P(LayerInvariants, BatchesTogetherEqualBatchesApart) {
  // Of other precisions than f32, calls of few rows equal each other, and so do those of many.
  const bool exact = GetParam().precision == Precision::f32;
  for (const std::int64_t tokens :
       exact ? std::vector<std::int64_t>{1, 5, 13, 37} : std::vector<std::int64_t>{1, 4, 49, 61}) {
    Case shape = small_shape();
    shape.tokens = tokens;
    shape.batch = 4;
    const Layer together = gaussian_layer(shape);
    const Attention layer = layer_for(shape, together.weights, GetParam().options());
    const std::int64_t border = layer.choice().few_rows;
    if ((tokens <= border) != (shape.rows() <= border)) continue;
    const Matrix y = run(GetParam(), together);
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      Layer apart{shape, together.weights, Matrix(tokens, shape.d_in)};
      apart.shape.batch = 1;
      std::copy_n(together.x.view().row(b * tokens), tokens * shape.d_in, apart.x.values.data());
      const Matrix alone = run(GetParam(), apart);
      EXPECT_TRUE(equal_for(GetParam(), rows(y, b * tokens, tokens), alone.view()))
          << "sequence " << b << " of " << tokens << " tokens";
    }
  }
}

void swap_head_columns(Matrix& matrix, std::int64_t head_dim, std::int64_t a, std::int64_t b) {
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    float* row = matrix.view().row(r);
    std::swap_ranges(row + a * head_dim, row + (a + 1) * head_dim, row + b * head_dim);
  }
}

TEST_P(LayerInvariants, PermutingHeadsPermutesSlices) {
  Case shape = small_shape();
  shape.d_proj = 0;
  Layer layer = gaussian_layer(shape);
  Matrix expected = run(GetParam(), layer);
  swap_head_columns(layer.weights.query, shape.head_dim(), 0, 2);
  swap_head_columns(layer.weights.key, shape.head_dim(), 0, 2);
  swap_head_columns(layer.weights.value, shape.head_dim(), 0, 2);
  swap_head_columns(expected, shape.head_dim(), 0, 2);
  EXPECT_TRUE(agree(run(GetParam(), layer), expected, GetParam().precision));
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerInvariants, testing::ValuesIn(layer_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, LayerInvariants, testing::ValuesIn(precision_cases()),
                         case_name);

class FormulationsAgree : public LayerTest {};

TEST_P(FormulationsAgree, WrapperEqualsSplitEqualsFused) {
  Case shape = small_shape();
  shape.batch = 2;
  shape.qkv_bias = true;
  const Layer layer = gaussian_layer(shape);
  LayerCase layer_case = GetParam();
  layer_case.formulation = Formulation::wrapper;
  const Matrix wrapper = run(layer_case, layer);
  layer_case.formulation = Formulation::split;
  const Matrix split = run(layer_case, layer);
  layer_case.formulation = Formulation::fused;
  const Matrix fused = run(layer_case, layer);
  EXPECT_TRUE(agree(wrapper, split, GetParam().precision));
  EXPECT_TRUE(agree(fused, split, GetParam().precision));
  if (layer_case.backend == "naive" || backend_facts(layer_case.backend).packs_heads_together) {
    EXPECT_TRUE(same_bits(wrapper, split));
  }
}

// Heads narrower than a panel of the kernels share panels, in every precision and storage.
TEST_P(FormulationsAgree, Wrapper_NarrowHeads_CostsWhatSplitCosts) {
  const bool together = backend_facts(GetParam().backend).packs_heads_together;
  Case shape = plain_shape(16, 96, 24, 8);
  shape.kv_heads = 12;
  const Layer layer = gaussian_layer(shape);
  for (const auto stored : {Storage::f32, Storage::bf16, Storage::q8, Storage::q4}) {
    const auto made = [&](Formulation formulation) {
      AttentionOptions options = GetParam().options();
      options.formulation = formulation;
      if (stored != Storage::f32) options.weights_dtype = stored;
      return layer_for(shape, layer.weights, options);
    };
    if (stored != Storage::f32 && !together) break;
    Attention wrapper = made(Formulation::wrapper);
    Attention split = made(Formulation::split);
    EXPECT_EQ(wrapper.costs().packs_heads_together, together);
    EXPECT_FALSE(split.costs().packs_heads_together);
    if (!together) break;
    EXPECT_EQ(wrapper.costs().packed_bytes, split.costs().packed_bytes) << to_string(stored);
    EXPECT_EQ(wrapper.costs().workspace_bytes, split.costs().workspace_bytes) << to_string(stored);
    Matrix of_wrapper(shape.rows(), shape.output_width());
    Matrix of_split(shape.rows(), shape.output_width());
    wrapper.forward(layer.x.view(), of_wrapper.view());
    split.forward(layer.x.view(), of_split.view());
    EXPECT_TRUE(same_bits(of_wrapper, of_split)) << to_string(stored);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FormulationsAgree, testing::ValuesIn(backend_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, FormulationsAgree, testing::ValuesIn(precision_cases()),
                         case_name);

}  // namespace
}  // namespace headroom::test::layer_invariants_test
