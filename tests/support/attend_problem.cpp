#include "support/attend_problem.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "headroom/dropout.hpp"

namespace headroom::test {
namespace {

std::string text(const Case& s) {
  return "T " + std::to_string(s.tokens) + " head_dim " + std::to_string(s.head_dim()) + " H " +
         std::to_string(s.heads) + " B " + std::to_string(s.batch) +
         (s.causal ? " causal" : " unmasked");
}

/// One row of one head in double: the result, `P |V|`, and the largest `scale * sum |q k|`.
struct ExpectedRow {
  std::vector<double> value, magnitude;
  double logit = 0;
};

double dot(const float* a, const float* b, std::int64_t count, bool absolute) {
  double sum = 0;
  for (std::int64_t d = 0; d < count; ++d) {
    const double term = static_cast<double>(a[d]) * static_cast<double>(b[d]);
    sum += absolute ? std::fabs(term) : term;
  }
  return sum;
}

ExpectedRow expected_row(const AttendProblem& problem, std::int64_t sequence, std::int64_t head,
                         std::int64_t token) {
  const Case& s = problem.shape();
  const std::int64_t first = sequence * s.tokens;
  const std::int64_t keys = s.causal ? token + 1 : s.tokens;
  const auto visible = static_cast<std::size_t>(keys);
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim()));
  const float* query = problem.q().at(first + token, head);
  ExpectedRow row;
  std::vector<double> weights(visible);
  for (std::size_t j = 0; j < visible; ++j) {
    const float* key = problem.k().at(first + static_cast<std::int64_t>(j), head);
    weights[j] = scale * dot(query, key, s.head_dim(), false);
    if (s.softcap > 0) weights[j] = s.softcap * std::tanh(weights[j] / s.softcap);
    row.logit = std::max(row.logit, scale * dot(query, key, s.head_dim(), true));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  std::vector<float> factors(visible, 1.0f);
  if (s.dropout > 0) {
    const std::uint64_t index = dropout_row(sequence * s.heads + head, token);
    DropoutPattern{s.dropout, s.dropout_seed}.factors(index, 0, keys, factors.data());
  }
  row.value.assign(static_cast<std::size_t>(s.head_dim()), 0.0);
  row.magnitude = row.value;
  for (std::size_t j = 0; j < visible; ++j) {
    const float* value = problem.v().at(first + static_cast<std::int64_t>(j), head);
    const double weight = weights[j] / sum * static_cast<double>(factors[j]);
    for (std::size_t d = 0; d < row.value.size(); ++d) {
      row.value[d] += weight * static_cast<double>(value[d]);
      row.magnitude[d] += weight * std::fabs(static_cast<double>(value[d]));
    }
  }
  return row;
}

/// How many units of `eps P |V|` a result may be off. The element bound of docs/numerics.md is for
/// a whole layer, whose q, k and v carry errors; for `attend` alone: a score is off by about `eps
/// L`, and so is its weight, in the numerator and in the sum; `exp`, the division and the product
/// with V round a few times more.
double allowed_units(double logit) { return 8.0 + 2.0 * logit; }

}  // namespace

Case attention_shape(std::int64_t tokens, std::int64_t head_dim, std::int64_t heads,
                     std::int64_t batch, bool causal) {
  Case shape;
  shape.batch = batch;
  shape.tokens = tokens;
  shape.heads = heads;
  shape.d_in = shape.d_out = heads * head_dim;
  shape.causal = causal;
  return shape;
}

AttendProblem::AttendProblem(const Case& shape, HeadLayout layout, std::int64_t padding, Side side)
    : shape_(shape),
      sequences_(sequences_of(shape)),
      in_(layout, shape.rows(), shape.heads, shape.head_dim(), padding),
      out_(HeadLayout::token_major, shape.rows(), shape.heads, shape.head_dim(), padding),
      q_(in_.size() - padding, side),
      k_(in_.size() - padding, side),
      v_(in_.size() - padding, side),
      y_(out_.size() - padding, side) {
  fill_gaussian(q_.values(), 1);
  fill_gaussian(k_.values(), 2);
  fill_gaussian(v_.values(), 3);
  std::fill(y_.values().begin(), y_.values().end(), kUntouched);
}

void for_each(const BlockedView& view, const std::function<void(float&)>& change) {
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t b = 0; b < view.blocks; ++b) {
      std::for_each_n(view.at(r, b), view.block_cols, change);
    }
  }
}

testing::AssertionResult matches(const AttendProblem& problem) {
  const Case& s = problem.shape();
  constexpr double kEps = 0x1p-23;
  for (std::int64_t r = 0; r < s.rows(); ++r) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const ExpectedRow row = expected_row(problem, r / s.tokens, h, r % s.tokens);
      const auto result = problem.out_row(r, h);
      for (std::size_t d = 0; d < result.size(); ++d) {
        const double limit = kEps * row.magnitude[d] * allowed_units(row.logit);
        const double error = std::fabs(static_cast<double>(result[d]) - row.value[d]);
        if (error <= limit) continue;  // false for NaN
        return testing::AssertionFailure()
               << text(s) << ": row " << r << " head " << h << " column " << d << " is "
               << result[d] << ", expected " << row.value[d] << ", off by " << error << ", allowed "
               << limit;
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace headroom::test
