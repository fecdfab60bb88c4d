#include "measure/group/outlier_data.hpp"

#include <cstddef>
#include <vector>

#include "plan/shapes/outliers.hpp"

namespace headroom::measure {
namespace {

using Channels = std::vector<std::int64_t>;

void scale_columns(Matrix& matrix, const Channels& columns, float factor) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (const std::int64_t column : columns) matrix.view().row(row)[column] *= factor;
  }
}

void scale_rows(Matrix& matrix, const Channels& rows, float factor) {
  if (matrix.rows == 0) return;
  for (const std::int64_t row : rows) {
    float* values = matrix.view().row(row);
    for (std::int64_t c = 0; c < matrix.cols; ++c) values[c] *= factor;
  }
}

void scale(std::vector<float>& values, const Channels& places, float factor) {
  if (values.empty()) return;
  for (const std::int64_t place : places) values[static_cast<std::size_t>(place)] *= factor;
}

// The channels of every head.
Channels of_heads(const Channels& of_one, std::int64_t heads, std::int64_t head_dim) {
  Channels all;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (const std::int64_t channel : of_one) all.push_back(head * head_dim + channel);
  }
  return all;
}

// Of x, and of the second input where that gives keys and values.
void add_to_inputs(Problem& problem, float factor) {
  SplitWeights& w = problem.weights;
  const Case& shape = problem.shape;
  const Channels of_x = plan::outlier_channels(shape.d_in);
  const Channels of_keys = plan::outlier_channels(shape.key_input());
  scale_columns(problem.x, of_x, factor);
  for (Matrix* matrix : {&problem.past, &problem.memory}) scale_columns(*matrix, of_keys, factor);
  for (Matrix* matrix : {&w.query, &w.gate}) scale_rows(*matrix, of_x, 1 / factor);
  for (Matrix* matrix : {&w.key, &w.value}) scale_rows(*matrix, of_keys, 1 / factor);
}

// Of a layer's keys, by whatever they go through last.
void add_to_keys(SplitWeights& w, QueryKeyNorm::Over norm, const Channels& keys,
                 const Channels& queries, float factor) {
  if (norm != QueryKeyNorm::Over::none) {
    scale(w.key_norm, keys, factor);
    scale(w.query_norm, queries, 1 / factor);
    return;
  }
  scale_columns(w.key, keys, factor);
  scale(w.key_bias, keys, factor);
  scale_columns(w.query, queries, 1 / factor);
  scale(w.query_bias, queries, 1 / factor);
}

}  // namespace

void add_outliers(Problem& problem) {
  const Case& shape = problem.shape;
  if (shape.outliers == 0) return;
  const auto factor = static_cast<float>(shape.outliers);
  const Channels of_head = plan::outlier_key_channels(shape);
  // One set of weights is for all heads.
  const bool shared = shape.norm.over == QueryKeyNorm::Over::head;
  const Channels keys = of_heads(of_head, shared ? 1 : shape.key_heads(), shape.head_dim());
  const Channels queries = of_heads(of_head, shared ? 1 : shape.heads, shape.head_dim());
  if (!shape.has_projections()) {
    scale_columns(problem.key, keys, factor);
    scale_columns(problem.x, queries, 1 / factor);
    return;
  }
  add_to_inputs(problem, factor);
  add_to_keys(problem.weights, shape.norm.over, keys, queries, factor);
}

}  // namespace headroom::measure
