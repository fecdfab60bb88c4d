#include "reference/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "headroom/dropout.hpp"
#include "headroom/error.hpp"
#include "reference/element_bound.hpp"
#include "reference/layer.hpp"
#include "reference/oracle_cost.hpp"

// Two orders of evaluation, direct and factored (layer.hpp), give the same numbers up to rounding
// in double, but the factored one's bound is wider. All rows of a shape are always computed
// directly.

namespace headroom::reference {

void weigh(const Layer& layer, std::int64_t row, std::int64_t head, Doubles& scores,
           Doubles& logits) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) largest = std::max(largest, score);
  for (double& score : scores) score -= largest;
  Softmax softmax{scores, {}};
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score);
  for (double& score : scores) score /= sum;
  softmax.weights = scores;
  const auto count = static_cast<std::int64_t>(scores.size());
  std::vector<float> factors;
  if (layer.shape.dropout > 0) {
    const DropoutPattern pattern{layer.shape.dropout, layer.shape.dropout_seed};
    const std::int64_t row_index =
        (layer.sequence(row) * layer.shape.heads + head) * layer.shape.tokens +
        row % layer.shape.tokens;
    factors.resize(scores.size());
    pattern.factors(static_cast<std::uint64_t>(row_index), 0, count, factors.data());
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] *= static_cast<double>(factors[j]);
  }
  weigh_bound(bound_factors(layer.shape, count), softmax, factors, logits);
}

namespace {

void finish(const Layer& layer, const MergedRow& merged, std::size_t at, Expected& expected) {
  double* y = expected.y.data() + at * index(expected.width);
  double* bound = expected.bound.data() + at * index(expected.width);
  if (layer.shape.d_proj == 0) {
    std::copy(merged.context.begin(), merged.context.end(), y);
    std::copy(merged.bound.begin(), merged.bound.end(), bound);
  } else {
    const std::vector<float>& bias = layer.weights.output_bias;
    const double factor = bound_factors(layer.shape, layer.visible(expected.rows[at])).output;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      y[c] = static_cast<double>(bias[c]);
      bound[c] = factor * term<kMagnitudes>(1, bias[c]);
    }
    const Block<float> output = columns(layer.weights.output, 0, layer.shape.d_proj);
    add_product<kSigned>(merged.context.data(), output, y);
    add_product<kMagnitudes>(merged.bound.data(), output, bound);
  }
  for (std::int64_t c = 0; c < expected.width; ++c) bound[c] *= kFloatEpsilon;
}

void run_direct(const Layer& layer, Expected& expected) {
  const std::int64_t group = group_tokens(layer.shape);
  const std::span<const std::int64_t> rows(expected.rows);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::int64_t first = rows[begin] / group * group;
    const std::int64_t count = std::min(group, layer.shape.rows() - first);
    const auto end = static_cast<std::size_t>(
        std::lower_bound(rows.begin(), rows.end(), first + count) - rows.begin());
    const DirectOrder order(layer, first, count);
    parallel_for(layer.threads, static_cast<std::int64_t>(end - begin), [&](std::int64_t i) {
      const std::size_t at = begin + index(i);
      finish(layer, order.attend(rows[at]), at, expected);
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
  expected.bound.resize(expected.y.size());
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
