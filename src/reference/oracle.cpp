#include "reference/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "headroom/dropout.hpp"
#include "headroom/error.hpp"
#include "reference/oracle_cost.hpp"
#include "reference/plain_loops.hpp"

// Two orders of evaluation give the same numbers up to rounding in double.
//   direct:   q, k, v of all tokens first, as the definition reads.
//   factored: for a few rows of a large layer, k and v of all tokens would be most of the work.
//             Products are associative: q.k_j = (W_k q).x_j + q.b_k, and
//             sum_j p_j v_j = (sum_j p_j x_j) W_v + b_v sum_j p_j.
// The factored order never has k, so it cannot give `logit` (L of numerics.md); it leaves 0, which
// makes the comparator's limit for adversarial data stricter, never wider. All rows of a shape are
// therefore always computed directly.

namespace headroom::reference {
namespace {

using Doubles = std::vector<double>;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

struct Layer {
  const Shape& shape;
  const SplitWeights& weights;
  ConstMatrixView x;
  double scale;
  int threads;

  std::int64_t sequence(std::int64_t row) const { return row / shape.tokens; }
  // Masked tokens are skipped, not multiplied by zero: a NaN there must not leak.
  std::int64_t visible(std::int64_t row) const {
    return shape.causal ? row % shape.tokens + 1 : shape.tokens;
  }
};

// A row between attention and output projection.
struct MergedRow {
  Doubles context;
  Doubles magnitude;
  double logit = 0;

  explicit MergedRow(const Shape& shape)
      : context(index(shape.d_out)), magnitude(index(shape.d_out)) {}
};

constexpr Terms kSigned = Terms::signed_values;
constexpr Terms kMagnitudes = Terms::magnitudes;

// `count` columns of a matrix.
Block<float> columns(const Matrix& matrix, std::int64_t first, std::int64_t count) {
  return {matrix.view().data + first, matrix.rows, count, matrix.cols};
}

// row W + b, or |row| |W| + |b|
template <Terms kTerms, class T>
void apply(const T* row, const Matrix& matrix, const std::vector<float>& bias, double* out) {
  std::fill_n(out, matrix.cols, 0.0);
  for (std::size_t c = 0; c < bias.size(); ++c) out[c] = term<kTerms>(1, bias[c]);
  add_product<kTerms>(row, columns(matrix, 0, matrix.cols), out);
}

// Turns scaled scores into attention weights, dropout included.
void softmax_and_dropout(const Layer& layer, std::int64_t row, std::int64_t head, Doubles& scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) largest = std::max(largest, score);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  if (layer.shape.dropout == 0) return;
  const DropoutPattern pattern{layer.shape.dropout, layer.shape.dropout_seed};
  const std::int64_t row_index =
      (layer.sequence(row) * layer.shape.heads + head) * layer.shape.tokens +
      row % layer.shape.tokens;
  std::vector<float> factors(scores.size());
  pattern.factors(static_cast<std::uint64_t>(row_index), 0,
                  static_cast<std::int64_t>(factors.size()), factors.data());
  for (std::size_t j = 0; j < scores.size(); ++j) scores[j] *= static_cast<double>(factors[j]);
}

// ---- direct -----------------------------------------------------------------------------------

// Key, value and |x||W_v| of consecutive tokens, `d_out` wide.
struct Tokens {
  std::int64_t first;
  Doubles key, value, magnitude;
};

Tokens project_tokens(const Layer& layer, std::int64_t first, std::int64_t count) {
  const std::int64_t width = layer.shape.d_out;
  const SplitWeights& w = layer.weights;
  const std::size_t size = index(count * width);
  Tokens tokens{first, Doubles(size), Doubles(size), Doubles(size)};
  parallel_for(layer.threads, count, [&](std::int64_t t) {
    const float* x = layer.x.row(first + t);
    const std::int64_t at = t * width;
    apply<kSigned>(x, w.key, w.key_bias, tokens.key.data() + at);
    apply<kSigned>(x, w.value, w.value_bias, tokens.value.data() + at);
    apply<kMagnitudes>(x, w.value, w.value_bias, tokens.magnitude.data() + at);
  });
  return tokens;
}

MergedRow attend(const Layer& layer, const Tokens& tokens, std::int64_t row) {
  const std::int64_t width = layer.shape.d_out;
  const std::int64_t head_dim = layer.shape.head_dim();
  const std::int64_t first = layer.sequence(row) * layer.shape.tokens - tokens.first;
  MergedRow merged(layer.shape);
  Doubles query(index(width));
  apply<kSigned>(layer.x.row(row), layer.weights.query, layer.weights.query_bias, query.data());
  Doubles scores(index(layer.visible(row)));
  for (std::int64_t head = 0; head < layer.shape.heads; ++head) {
    const std::int64_t column = head * head_dim;
    const std::int64_t start = first * width + column;
    const double* q = query.data() + column;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double* key = tokens.key.data() + start + static_cast<std::int64_t>(j) * width;
      scores[j] = layer.scale * dot<kSigned>(q, key, head_dim);
      merged.logit = std::max(merged.logit, layer.scale * dot<kMagnitudes>(q, key, head_dim));
    }
    softmax_and_dropout(layer, row, head, scores);
    const auto seen = static_cast<std::int64_t>(scores.size());
    const Block<double> value{tokens.value.data() + start, seen, head_dim, width};
    const Block<double> magnitude{tokens.magnitude.data() + start, seen, head_dim, width};
    add_product<kSigned>(scores.data(), value, merged.context.data() + column);
    add_product<kMagnitudes>(scores.data(), magnitude, merged.magnitude.data() + column);
  }
  return merged;
}

// ---- factored ---------------------------------------------------------------------------------

// sum_j p_j x_j, sum_j p_j |x_j| and sum_j p_j of one head.
struct WeightedInput {
  Doubles x, magnitude;
  double weight = 0;
};

WeightedInput weigh_input(const Layer& layer, std::int64_t row, std::int64_t head,
                          const Doubles& query) {
  const std::int64_t head_dim = layer.shape.head_dim();
  const std::int64_t column = head * head_dim;
  const double* q = query.data() + column;
  const Block<float> key = columns(layer.weights.key, column, head_dim);
  Doubles direction(index(key.rows));  // W_k q
  for (std::int64_t k = 0; k < key.rows; ++k) {
    direction[index(k)] = dot<kSigned>(q, key.data + k * key.stride, head_dim);
  }
  const std::vector<float>& bias = layer.weights.key_bias;
  // The same for every j, so softmax cancels it, unless it is NaN or Inf.
  const double offset = bias.empty() ? 0 : dot<kSigned>(q, bias.data() + column, head_dim);
  const std::int64_t seen = layer.visible(row);
  const Block<float> x{layer.x.row(layer.sequence(row) * layer.shape.tokens), seen,
                       layer.shape.d_in, layer.x.row_stride};
  Doubles scores(index(seen));
  for (std::int64_t j = 0; j < seen; ++j) {
    const double score = dot<kSigned>(direction.data(), x.data + j * x.stride, x.cols);
    scores[index(j)] = layer.scale * (score + offset);
  }
  softmax_and_dropout(layer, row, head, scores);
  WeightedInput sum{Doubles(index(x.cols)), Doubles(index(x.cols))};
  add_product<kSigned>(scores.data(), x, sum.x.data());
  add_product<kMagnitudes>(scores.data(), x, sum.magnitude.data());
  sum.weight = std::accumulate(scores.begin(), scores.end(), 0.0);
  return sum;
}

MergedRow attend_factored(const Layer& layer, std::int64_t row) {
  const std::int64_t head_dim = layer.shape.head_dim();
  MergedRow merged(layer.shape);
  Doubles query(index(layer.shape.d_out));
  apply<kSigned>(layer.x.row(row), layer.weights.query, layer.weights.query_bias, query.data());
  for (std::int64_t head = 0; head < layer.shape.heads; ++head) {
    const std::int64_t column = head * head_dim;
    const WeightedInput sum = weigh_input(layer, row, head, query);
    const Block<float> value = columns(layer.weights.value, column, head_dim);
    double* context = merged.context.data() + column;
    double* magnitude = merged.magnitude.data() + column;
    add_product<kSigned>(sum.x.data(), value, context);
    add_product<kMagnitudes>(sum.magnitude.data(), value, magnitude);
    if (layer.weights.value_bias.empty()) continue;
    const Block<float> bias{layer.weights.value_bias.data() + column, 1, head_dim, head_dim};
    add_product<kSigned>(&sum.weight, bias, context);
    add_product<kMagnitudes>(&sum.weight, bias, magnitude);
  }
  return merged;
}

// ---- both -------------------------------------------------------------------------------------

void finish(const Layer& layer, const MergedRow& merged, std::size_t at, Expected& expected) {
  double* y = expected.y.data() + at * index(expected.width);
  double* magnitude = expected.magnitude.data() + at * index(expected.width);
  expected.logit[at] = merged.logit;
  if (layer.shape.d_proj == 0) {
    std::copy(merged.context.begin(), merged.context.end(), y);
    std::copy(merged.magnitude.begin(), merged.magnitude.end(), magnitude);
    return;
  }
  const SplitWeights& w = layer.weights;
  apply<kSigned>(merged.context.data(), w.output, w.output_bias, y);
  apply<kMagnitudes>(merged.magnitude.data(), w.output, w.output_bias, magnitude);
}

void run_direct(const Layer& layer, Expected& expected) {
  const std::int64_t group = group_tokens(layer.shape);
  const std::span<const std::int64_t> rows(expected.rows);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::int64_t first = rows[begin] / group * group;
    const std::int64_t count = std::min(group, layer.shape.rows() - first);
    const auto end = static_cast<std::size_t>(
        std::lower_bound(rows.begin(), rows.end(), first + count) - rows.begin());
    const Tokens tokens = project_tokens(layer, first, count);
    parallel_for(layer.threads, static_cast<std::int64_t>(end - begin), [&](std::int64_t i) {
      const std::size_t at = begin + index(i);
      finish(layer, attend(layer, tokens, rows[at]), at, expected);
    });
    begin = end;
  }
}

void run_factored(const Layer& layer, Expected& expected) {
  parallel_for(layer.threads, static_cast<std::int64_t>(expected.rows.size()), [&](std::int64_t i) {
    const MergedRow merged = attend_factored(layer, expected.rows[index(i)]);
    finish(layer, merged, index(i), expected);
  });
}

void check_request(const Shape& shape, ConstMatrixView x, const std::vector<std::int64_t>& rows) {
  if (x.rows != shape.rows() || x.cols != shape.d_in || x.row_stride < x.cols ||
      (x.data == nullptr && x.rows > 0)) {
    throw InvalidArgument(fmt::format(
        "oracle: x is {} x {} with row stride {}; shape {} needs {} x {} and a stride of {} or "
        "more",
        x.rows, x.cols, x.row_stride, shape.id(), shape.rows(), shape.d_in, shape.d_in));
  }
  std::int64_t least = 0;
  for (const std::int64_t row : rows) {
    if (row < least || row >= shape.rows()) {
      throw InvalidArgument(
          fmt::format("oracle: row {} was asked for; allowed are rows from {} to below {}, each "
                      "once and in ascending order",
                      row, least, shape.rows()));
    }
    least = row + 1;
  }
}

}  // namespace

Expected attention(const Shape& shape, const SplitWeights& weights, ConstMatrixView x,
                   const std::vector<std::int64_t>& rows, int threads) {
  check_weights(shape, weights);
  check_request(shape, x, rows);
  Expected expected;
  expected.rows = rows;
  expected.width = shape.output_width();
  expected.y.resize(rows.size() * index(expected.width));
  expected.magnitude.resize(expected.y.size());
  expected.logit.resize(rows.size());
  if (rows.empty()) return expected;
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim()));
  const Layer layer{shape, weights, x, scale, threads};
  const bool all = std::ssize(rows) == shape.rows();
  if (all || direct_is_cheaper(shape, rows)) {
    run_direct(layer, expected);
  } else {
    run_factored(layer, expected);
  }
  return expected;
}

}  // namespace headroom::reference
