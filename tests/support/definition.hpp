// The layer as it is defined, once more, in long double and one element at a time: the oracle
// itself is checked against this.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "headroom/dropout.hpp"
#include "headroom/shape.hpp"
#include "headroom/weights.hpp"

namespace headroom::test {

using Wide = long double;

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

inline Shape make_shape(std::int64_t batch, std::int64_t tokens, std::int64_t d_in,
                        std::int64_t d_out, std::int64_t heads, std::int64_t d_proj) {
  Shape shape;
  shape.batch = batch;
  shape.tokens = tokens;
  shape.d_in = d_in;
  shape.d_out = d_out;
  shape.heads = heads;
  shape.d_proj = d_proj;
  return shape;
}

/// Small shapes with every combination of options.
inline std::vector<Shape> variants() {
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

  Wide query(std::int64_t row, std::int64_t c, bool absolute) const {
    return project(row, weights.query, weights.query_bias, c, absolute);
  }
  Wide key(std::int64_t row, std::int64_t c, bool absolute) const {
    return project(row, weights.key, weights.key_bias, c, absolute);
  }
  Wide value(std::int64_t row, std::int64_t c, bool absolute) const {
    return project(row, weights.value, weights.value_bias, c, absolute);
  }

  Wide score(std::int64_t i, std::int64_t j, std::int64_t head) const {
    Wide sum = 0;
    for (std::int64_t c = head * shape.head_dim(); c < (head + 1) * shape.head_dim(); ++c) {
      sum += query(i, c, false) * key(j, c, false);
    }
    return sum / std::sqrt(static_cast<Wide>(shape.head_dim()));
  }

  std::int64_t first(std::int64_t row) const { return row / shape.tokens * shape.tokens; }
  std::int64_t visible(std::int64_t row) const {
    return shape.causal ? row - first(row) + 1 : shape.tokens;
  }

  // Softmax of a row over the tokens that it sees.
  std::vector<Wide> softmax(std::int64_t row, std::int64_t head) const {
    std::vector<Wide> p(index(visible(row)));
    Wide sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      sum += p[j] = std::exp(score(row, first(row) + static_cast<std::int64_t>(j), head));
    }
    for (Wide& weight : p) weight /= sum;
    return p;
  }

  std::vector<float> dropout(std::int64_t row, std::int64_t head) const {
    std::vector<float> factors(index(visible(row)));
    const auto row_index =
        (row / shape.tokens * shape.heads + head) * shape.tokens + row - first(row);
    DropoutPattern{shape.dropout, shape.dropout_seed}.factors(static_cast<std::uint64_t>(row_index),
                                                              0, visible(row), factors.data());
    return factors;
  }

  // The merged row before the output projection.
  std::vector<Wide> context(std::int64_t row) const {
    std::vector<Wide> merged(index(shape.d_out));
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<Wide> p = softmax(row, head);
      const std::vector<float> factors = dropout(row, head);
      for (std::int64_t c = head * shape.head_dim(); c < (head + 1) * shape.head_dim(); ++c) {
        for (std::size_t j = 0; j < p.size(); ++j) {
          merged[index(c)] += static_cast<Wide>(factors[j]) * p[j] *
                              value(first(row) + static_cast<std::int64_t>(j), c, false);
        }
      }
    }
    return merged;
  }

  // Merged row, or its sizes, times W_o, with `bias_factor` times b_o.
  std::vector<Wide> output(const std::vector<Wide>& merged, bool absolute, Wide bias_factor) const {
    if (shape.d_proj == 0) return merged;
    std::vector<Wide> y(weights.output_bias.begin(), weights.output_bias.end());
    for (std::int64_t c = 0; c < shape.d_proj; ++c) {
      if (absolute) y[index(c)] = std::abs(y[index(c)]);
      y[index(c)] *= bias_factor;
      for (std::int64_t k = 0; k < shape.d_out; ++k) {
        const Wide product = merged[index(k)] * static_cast<Wide>(weights.output.view().row(k)[c]);
        y[index(c)] += absolute ? std::abs(product) : product;
      }
    }
    return y;
  }
};

}  // namespace headroom::test
