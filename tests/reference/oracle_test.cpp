#include "reference/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "headroom/dropout.hpp"
#include "headroom/error.hpp"
#include "headroom/initialise.hpp"

namespace headroom::reference {
namespace {

using Wide = long double;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

Shape make_shape(std::int64_t batch, std::int64_t tokens, std::int64_t d_in, std::int64_t d_out,
                 std::int64_t heads, std::int64_t d_proj) {
  Shape shape;
  shape.batch = batch;
  shape.tokens = tokens;
  shape.d_in = d_in;
  shape.d_out = d_out;
  shape.heads = heads;
  shape.d_proj = d_proj;
  return shape;
}

std::vector<Shape> variants() {
  std::vector<Shape> shapes;
  for (const bool causal : {true, false}) {
    for (const bool bias : {false, true}) {
      for (const double dropout : {0.0, 0.3}) {
        for (const std::int64_t d_proj : {0, 5}) {
          Shape shape = make_shape(2, 19, 7, 12, 3, d_proj);
          shape.causal = causal;
          shape.qkv_bias = bias;
          shape.dropout = dropout;
          shape.dropout_seed = 99;
          shapes.push_back(shape);
        }
      }
    }
  }
  shapes.push_back(make_shape(1, 1, 1, 1, 1, 1));
  shapes.push_back(make_shape(1, 6, 9, 3, 3, 4));
  return shapes;
}

// ---- The definition once more, in long double and one element at a time.

struct Definition {
  const Shape& shape;
  const SplitWeights& weights;
  ConstMatrixView x;

  // Column c of row * matrix + bias, and the same over absolute values.
  Wide project(std::int64_t row, const Matrix& matrix, const std::vector<float>& bias,
               std::int64_t c, bool absolute) const {
    Wide sum = bias.empty() ? 0 : static_cast<Wide>(bias[index(c)]);
    if (absolute) sum = std::abs(sum);
    for (std::int64_t k = 0; k < matrix.rows; ++k) {
      const Wide product =
          static_cast<Wide>(x.row(row)[k]) * static_cast<Wide>(matrix.view().row(k)[c]);
      sum += absolute ? std::abs(product) : product;
    }
    return sum;
  }

  Wide score(std::int64_t i, std::int64_t j, std::int64_t head, bool absolute) const {
    Wide sum = 0;
    for (std::int64_t c = head * shape.head_dim(); c < (head + 1) * shape.head_dim(); ++c) {
      const Wide product = project(i, weights.query, weights.query_bias, c, false) *
                           project(j, weights.key, weights.key_bias, c, false);
      sum += absolute ? std::abs(product) : product;
    }
    return sum / std::sqrt(static_cast<Wide>(shape.head_dim()));
  }

  // Attention weights of a row over the tokens of its sequence, 0 where masked.
  std::vector<Wide> attention_weights(std::int64_t row, std::int64_t head, Wide& logit) const {
    const std::int64_t first = row / shape.tokens * shape.tokens;
    const std::int64_t end = shape.causal ? row + 1 : first + shape.tokens;
    std::vector<Wide> p(index(shape.tokens));
    Wide sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      sum += p[index(j - first)] = std::exp(score(row, j, head, false));
      logit = std::max(logit, score(row, j, head, true));
    }
    const auto row_index = (row / shape.tokens * shape.heads + head) * shape.tokens + row - first;
    std::vector<float> factors(p.size());
    DropoutPattern{shape.dropout, shape.dropout_seed}.factors(static_cast<std::uint64_t>(row_index),
                                                              0, shape.tokens, factors.data());
    for (std::size_t j = 0; j < p.size(); ++j) p[j] *= static_cast<Wide>(factors[j]) / sum;
    return p;
  }

  // The merged row before the output projection.
  std::vector<Wide> context(std::int64_t row, bool absolute, Wide& logit) const {
    const std::int64_t first = row / shape.tokens * shape.tokens;
    std::vector<Wide> merged(index(shape.d_out));
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<Wide> p = attention_weights(row, head, logit);
      for (std::int64_t c = head * shape.head_dim(); c < (head + 1) * shape.head_dim(); ++c) {
        for (std::int64_t j = 0; j < shape.tokens; ++j) {
          merged[index(c)] +=
              p[index(j)] * project(first + j, weights.value, weights.value_bias, c, absolute);
        }
      }
    }
    return merged;
  }

  std::vector<Wide> output(const std::vector<Wide>& merged, bool absolute) const {
    if (shape.d_proj == 0) return merged;
    std::vector<Wide> y(weights.output_bias.begin(), weights.output_bias.end());
    for (std::int64_t c = 0; c < shape.d_proj; ++c) {
      if (absolute) y[index(c)] = std::abs(y[index(c)]);
      for (std::int64_t k = 0; k < shape.d_out; ++k) {
        const Wide product = merged[index(k)] * static_cast<Wide>(weights.output.view().row(k)[c]);
        y[index(c)] += absolute ? std::abs(product) : product;
      }
    }
    return y;
  }
};

TEST(Oracle, AgreesWithTheDefinitionInLongDouble) {
  for (const Shape& shape : variants()) {
    SCOPED_TRACE(shape.id());
    const SplitWeights weights = gaussian_weights(shape, 1);
    const Matrix x = gaussian_input(shape, 2);
    const Expected expected = attention(shape, weights, x.view(), all_rows(shape), 2);
    const Definition definition{shape, weights, x.view()};
    ASSERT_EQ(expected.width, shape.output_width());
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      Wide logit = 0;
      const auto y = definition.output(definition.context(row, false, logit), false);
      const auto magnitude = definition.output(definition.context(row, true, logit), true);
      for (std::size_t c = 0; c < y.size(); ++c) {
        const std::size_t at = index(row) * y.size() + c;
        const auto size = static_cast<double>(magnitude[c]);
        ASSERT_NEAR(expected.y[at], static_cast<double>(y[c]), 1e-14 * size);
        ASSERT_NEAR(expected.magnitude[at], size, 1e-14 * size);
      }
      ASSERT_NEAR(expected.logit[index(row)], static_cast<double>(logit), 1e-13);
    }
  }
}

// ---- Both orders of evaluation.

TEST(Oracle, BothOrdersAgree) {
  for (Shape shape : variants()) {
    shape.tokens = 67;  // enough that a single row is cheaper without all keys and values
    if (shape.d_in < 7) continue;
    SCOPED_TRACE(shape.id());
    const SplitWeights weights = gaussian_weights(shape, 1);
    const Matrix x = gaussian_input(shape, 2);
    const Expected all = attention(shape, weights, x.view(), all_rows(shape), 1);
    ASSERT_GT(all.logit[0], 0) << "all rows should take the direct order";
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{40}, shape.rows() - 1}) {
      const Expected one = attention(shape, weights, x.view(), {row}, 1);
      ASSERT_EQ(one.logit[0], 0) << "one row should take the factored order";
      for (std::int64_t c = 0; c < one.width; ++c) {
        const std::size_t at = index(row * one.width + c);
        ASSERT_NEAR(one.y[index(c)], all.y[at], 1e-12 * all.magnitude[at]);
        ASSERT_NEAR(one.magnitude[index(c)], all.magnitude[at], 1e-12 * all.magnitude[at]);
      }
    }
  }
}

TEST(Oracle, SameBitsForEveryThreadCountAndSelection) {
  const Shape shape = make_shape(3, 50, 8, 8, 2, 8);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape, 2);
  const Expected all = attention(shape, weights, x.view(), all_rows(shape), 1);
  EXPECT_EQ(attention(shape, weights, x.view(), all_rows(shape), 3).y, all.y);
  std::vector<std::int64_t> half;
  for (std::int64_t row = 1; row < shape.rows(); row += 2) half.push_back(row);
  const Expected some = attention(shape, weights, x.view(), half, 2);
  ASSERT_GT(some.logit[0], 0) << "half of the rows should take the direct order";
  for (std::size_t i = 0; i < half.size(); ++i) {
    for (std::size_t c = 0; c < 8; ++c) {
      ASSERT_EQ(some.y[i * 8 + c], all.y[index(half[i]) * 8 + c]);
    }
  }
}

// More tokens than one group holds, in short sequences.
TEST(Oracle, BatchesEqualSequencesApart) {
  const Shape shape = make_shape(700, 3, 4, 4, 2, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape, 2);
  const Expected all = attention(shape, weights, x.view(), all_rows(shape), 2);
  Shape single = shape;
  single.batch = 1;
  for (const std::int64_t b : {0, 340, 341, 342, 699}) {
    const ConstMatrixView part{x.view().row(b * 3), 3, 4, 4};
    const Expected one = attention(single, weights, part, all_rows(single), 1);
    for (std::size_t i = 0; i < one.y.size(); ++i) {
      ASSERT_EQ(one.y[i], all.y[index(b) * one.y.size() + i]) << b;
    }
  }
}

TEST(Oracle, ReadsStridedRows) {
  const Shape shape = make_shape(1, 9, 5, 6, 2, 3);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape, 2);
  std::vector<float> wide(9 * 8, std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t r = 0; r < 9; ++r) std::copy_n(x.view().row(r), 5, wide.data() + r * 8);
  const Expected expected = attention(shape, weights, x.view(), all_rows(shape), 1);
  EXPECT_EQ(attention(shape, weights, {wide.data(), 9, 5, 8}, all_rows(shape), 1).y, expected.y);
}

// ---- NaN goes where the definition sends it.

TEST(Oracle, MaskedNanDoesNotLeakAndSeenNanDoes) {
  for (const std::int64_t tokens : {12, 90}) {  // 90: single rows take the factored order
    Shape shape = make_shape(2, tokens, 7, 6, 2, 4);
    const SplitWeights weights = gaussian_weights(shape, 1);
    Matrix x = gaussian_input(shape, 2);
    const Expected clean = attention(shape, weights, x.view(), all_rows(shape), 1);
    const std::int64_t bad = 5;
    x.view().row(bad)[3] = std::numeric_limits<float>::quiet_NaN();
    const Expected all = attention(shape, weights, x.view(), all_rows(shape), 1);
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const bool sees = row >= bad && row < tokens;
      const Expected one = attention(shape, weights, x.view(), {row}, 1);
      for (std::int64_t c = 0; c < all.width; ++c) {
        const std::size_t at = index(row * all.width + c);
        ASSERT_EQ(std::isnan(all.y[at]), sees) << row;
        ASSERT_EQ(std::isnan(one.y[index(c)]), sees) << row;
        if (!sees) {
          ASSERT_EQ(all.y[at], clean.y[at]);
        }
      }
    }
  }
}

TEST(Oracle, LargeScoresDoNotOverflow) {
  const Shape shape = make_shape(1, 8, 4, 4, 1, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  Matrix x = gaussian_input(shape, 2);
  for (float& value : x.values) value *= 1e4F;
  for (const double y : attention(shape, weights, x.view(), all_rows(shape), 1).y) {
    ASSERT_TRUE(std::isfinite(y));
  }
}

// ---- Requests.

TEST(Oracle, NoTokensAreNoWork) {
  for (const auto& [batch, tokens] : {std::pair{0, 5}, std::pair{5, 0}}) {
    const Shape shape = make_shape(batch, tokens, 4, 4, 1, 4);
    const Expected expected =
        attention(shape, gaussian_weights(shape, 1), {nullptr, 0, 4, 4}, all_rows(shape), 2);
    EXPECT_TRUE(expected.y.empty());
    EXPECT_TRUE(affordable_rows(shape, 1e9).empty());
  }
}

TEST(Oracle, RefusesWhatItCannotRead) {
  const Shape shape = make_shape(1, 4, 4, 4, 1, 0);
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape, 2);
  EXPECT_THROW(attention(shape, weights, x.view(), {4}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {-1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {2, 1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, x.view(), {1, 1}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, {x.values.data(), 3, 4, 4}, {0}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, {x.values.data(), 4, 4, 3}, {0}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, weights, {nullptr, 4, 4, 4}, {0}, 1), InvalidArgument);
  EXPECT_THROW(attention(shape, SplitWeights{}, x.view(), {0}, 1), InvalidArgument);
}

TEST(AffordableRows, AreAllIfAllAreCheap) {
  const Shape shape = make_shape(2, 10, 4, 4, 1, 4);
  EXPECT_EQ(affordable_rows(shape, 1e9), all_rows(shape));
}

TEST(AffordableRows, AreSpreadWithTheFirstAndTheLast) {
  const Shape shape = make_shape(2, 1024, 12288, 12288, 96, 12288);
  EXPECT_EQ(affordable_rows(shape, 1), (std::vector<std::int64_t>{0, 682, 1364, 2047}));
  const auto more = affordable_rows(shape, 1e11);
  EXPECT_GT(more.size(), 4U);
  EXPECT_LT(more.size(), 200U);
  EXPECT_EQ(more.front(), 0);
  EXPECT_EQ(more.back(), 2047);
  EXPECT_TRUE(std::is_sorted(more.begin(), more.end()));
  EXPECT_EQ(std::adjacent_find(more.begin(), more.end()), more.end());
}

TEST(AffordableRows, NeverExceedTheShape) {
  for (const std::int64_t tokens : {1, 2, 3, 4}) {
    const Shape shape = make_shape(1, tokens, 4096, 4096, 1, 0);
    EXPECT_EQ(affordable_rows(shape, 1), all_rows(shape));
  }
}

}  // namespace
}  // namespace headroom::reference
