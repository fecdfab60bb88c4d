// The layer as it is defined, once more, in long double and one element at a time: the oracle
// itself is checked against this.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "headroom/dropout.hpp"
#include "headroom/weights.hpp"
#include "support/layer_data.hpp"

namespace headroom::test {

using Wide = long double;

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

inline Case make_shape(std::int64_t batch, std::int64_t tokens, std::int64_t d_in,
                       std::int64_t d_out, std::int64_t heads, std::int64_t d_proj) {
  Case shape;
  shape.batch = batch;
  shape.tokens = tokens;
  shape.d_in = d_in;
  shape.d_out = d_out;
  shape.heads = heads;
  shape.d_proj = d_proj;
  return shape;
}

/// Small shapes with every combination of a plain layer's options.
inline std::vector<Case> variants() {
  std::vector<Case> shapes;
  for (const bool causal : {true, false}) {
    for (const bool bias : {false, true}) {
      for (const double dropout : {0.0, 0.3}) {
        for (const std::int64_t d_proj : {0, 5}) {
          Case shape = make_shape(2, 19, 7, 12, 3, d_proj);
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

/// Small shapes with each of the options of a call and with all of them together.
inline std::vector<Case> call_variants() {
  std::vector<Case> shapes;
  const auto add = [&](const auto& change) {
    for (const bool rich : {false, true}) {
      Case shape = make_shape(2, 9, 7, 24, 6, rich ? 5 : 0);
      shape.qkv_bias = rich;
      shape.dropout = rich ? 0.3 : 0.0;
      shape.dropout_seed = 99;
      change(shape);
      shapes.push_back(shape);
    }
  };
  const auto lengths = [](Case& s) { s.batch = 4, s.lengths = {3, 9, 0, 1}; };
  add([](Case& s) { s.kv_heads = 2; });
  add([](Case& s) { s.kv_heads = 1, s.causal = false; });
  add([](Case& s) { s.window = 1; });
  add([](Case& s) { s.window = 4; });
  add([](Case& s) { s.past = 6; });
  add([](Case& s) { s.past = 6, s.tokens = 1; });
  add([](Case& s) { s.past = 6, s.causal = false; });
  add([](Case& s) { s.past = 6, s.window = 3; });
  add([](Case& s) { s.past = 6, s.window = 8; });
  add([](Case& s) { s.rotary.pairs = Rotary::Pairs::neighbours; });
  add([](Case& s) { s.rotary = {Rotary::Pairs::halves, 500, 0.25}; });
  add([](Case& s) { s.rotary = {Rotary::Pairs::neighbours, 500, 1.5}, s.past = 6; });
  add(lengths);
  add([&](Case& s) { lengths(s), s.causal = false; });
  add([](Case& s) { s.causal = false, s.d_memory = 5, s.memory_tokens = 11; });
  add([](Case& s) { s.causal = false, s.d_memory = 5, s.memory_tokens = 0; });
  add([](Case& s) { s.causal = false, s.d_memory = 5, s.memory_tokens = 4, s.past = 3; });
  add([&](Case& s) { lengths(s), s.causal = false, s.d_memory = 5, s.memory_tokens = 2; });
  add([&](Case& s) {
    lengths(s), s.kv_heads = 3, s.past = 5, s.window = 7, s.rotary.pairs = Rotary::Pairs::halves;
  });
  return shapes;
}

/// Both.
inline std::vector<Case> all_variants() {
  std::vector<Case> shapes = variants();
  for (const Case& shape : call_variants()) shapes.push_back(shape);
  return shapes;
}

/// A row's sequence, where it stands in it, and the keys that it sees.
struct Seen {
  std::int64_t sequence = 0;
  std::int64_t position = 0;
  std::int64_t first = 0;  ///< key
  std::int64_t keys = 0;
};

struct Definition {
  const Case& shape;
  const SplitWeights& weights;
  ConstMatrixView x;
  ConstMatrixView past;
  ConstMatrixView memory;
  const std::vector<std::int64_t>& positions;

  explicit Definition(const Layer& layer)
      : shape(layer.shape),
        weights(layer.weights),
        x(layer.x.view()),
        past(layer.past.view()),
        memory(layer.memory.view()),
        positions(layer.positions) {}

  /// Goes through the sequences and keys one by one.
  Seen seen(std::int64_t row) const {
    Seen result;
    while (row >= shape.length(result.sequence)) row -= shape.length(result.sequence++);
    const bool cross = shape.d_memory > 0;
    result.position = cross ? row : shape.past + row;
    result.first = -1;
    const std::int64_t all =
        shape.past + (cross ? shape.memory_tokens : shape.length(result.sequence));
    for (std::int64_t j = 0; j < all; ++j) {
      if (shape.causal && j > result.position) continue;
      if (shape.window > 0 && result.position - j >= shape.window) continue;
      if (result.first < 0) result.first = j;
      ++result.keys;
    }
    return result;
  }

  /// What key `j` of a sequence is made of.
  const float* token(std::int64_t sequence, std::int64_t j) const {
    if (j < shape.past) return past.row(sequence * shape.past + j);
    if (shape.d_memory > 0) return memory.row(sequence * shape.memory_tokens + j - shape.past);
    std::int64_t row = j - shape.past;
    for (std::int64_t s = 0; s < sequence; ++s) row += shape.length(s);
    return x.row(row);
  }

  // Column c of row * matrix + bias, and the same over absolute values.
  static Wide project(const float* row, const Matrix& matrix, const std::vector<float>& bias,
                      std::int64_t c, bool absolute) {
    Wide sum = bias.empty() ? 0 : static_cast<Wide>(bias[index(c)]);
    if (absolute) sum = std::abs(sum);
    for (std::int64_t k = 0; k < matrix.rows; ++k) {
      const Wide product = static_cast<Wide>(row[k]) * static_cast<Wide>(matrix.view().row(k)[c]);
      sum += absolute ? std::abs(product) : product;
    }
    return sum;
  }

  // What key `j` of a sequence is turned by, for pair `i` of its heads.
  std::int64_t position(std::int64_t sequence, std::int64_t j, std::int64_t i) const {
    if (positions.empty()) return j;
    std::int64_t all = 0, before = 0;
    for (std::int64_t s = 0; s < shape.batch; ++s) {
      if (s == sequence) before = all;
      all += shape.past + shape.length(s);
    }
    if (static_cast<std::int64_t>(positions.size()) == all) return positions[index(before + j)];
    const auto& [times, heights, widths] = shape.rotary.sections;
    std::int64_t axis = i < times ? 0 : i < times + heights ? 1 : 2;
    if (shape.rotary.interleaved) {
      axis = i % 3 == 1 && i / 3 < heights ? 1 : i % 3 == 2 && i / 3 < widths ? 2 : 0;
    }
    return positions[index(axis * all + before + j)];
  }

  // The same, turned to a position. Column c is one of a pair, whose other one is looked for among
  // all columns of its head.
  Wide turned(const float* row, const Matrix& matrix, const std::vector<float>& bias,
              std::int64_t c, const Seen& token, bool absolute) const {
    const Wide here = project(row, matrix, bias, c, absolute);
    if (shape.rotary.pairs == Rotary::Pairs::none) return here;
    const std::int64_t width = shape.head_dim();
    const std::int64_t in_head = c % width;
    const bool neighbours = shape.rotary.pairs == Rotary::Pairs::neighbours;
    const std::int64_t pair = neighbours ? in_head / 2 : in_head % (width / 2);
    const bool second = neighbours ? in_head % 2 == 1 : in_head >= width / 2;
    const std::int64_t other = c + (second ? -1 : 1) * (neighbours ? 1 : width / 2);
    const std::int64_t turns = position(token.sequence, token.position, pair);
    const Wide angle = static_cast<Wide>(turns) * static_cast<Wide>(shape.rotary.scale) *
                       std::pow(static_cast<Wide>(shape.rotary.base),
                                -2 * static_cast<Wide>(pair) / static_cast<Wide>(width));
    const Wide there = project(row, matrix, bias, other, absolute);
    if (absolute) return std::abs(std::cos(angle)) * here + std::abs(std::sin(angle)) * there;
    return std::cos(angle) * here + (second ? 1 : -1) * std::sin(angle) * there;
  }

  Wide query(std::int64_t row, std::int64_t c, bool absolute) const {
    return turned(x.row(row), weights.query, weights.query_bias, c, seen(row), absolute);
  }
  /// @param head of the query, here and below
  Wide key(std::int64_t sequence, std::int64_t j, std::int64_t head, std::int64_t c,
           bool absolute) const {
    return turned(token(sequence, j), weights.key, weights.key_bias, key_head(head) + c,
                  {sequence, j}, absolute);
  }
  Wide value(std::int64_t sequence, std::int64_t j, std::int64_t head, std::int64_t c,
             bool absolute) const {
    return project(token(sequence, j), weights.value, weights.value_bias, key_head(head) + c,
                   absolute);
  }
  // First column of the key head: heads take turns, each key head serving its group.
  std::int64_t key_head(std::int64_t head) const {
    std::int64_t number = 0;
    for (std::int64_t served = shape.heads / shape.key_heads(); served <= head; ++number) {
      served += shape.heads / shape.key_heads();
    }
    return number * shape.head_dim();
  }

  Wide score(std::int64_t row, std::int64_t j, std::int64_t head) const {
    Wide sum = 0;
    for (std::int64_t c = 0; c < shape.head_dim(); ++c) {
      sum += query(row, head * shape.head_dim() + c, false) *
             key(seen(row).sequence, j, head, c, false);
    }
    return sum / std::sqrt(static_cast<Wide>(shape.head_dim()));
  }

  // Softmax of a row over the keys that it sees.
  std::vector<Wide> softmax(std::int64_t row, std::int64_t head) const {
    const Seen place = seen(row);
    std::vector<Wide> p(index(place.keys));
    Wide sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      sum += p[j] = std::exp(score(row, place.first + static_cast<std::int64_t>(j), head));
    }
    for (Wide& weight : p) weight /= sum;
    return p;
  }

  std::vector<float> dropout(std::int64_t row, std::int64_t head) const {
    const Seen place = seen(row);
    std::vector<float> factors(index(place.keys));
    DropoutPattern{shape.dropout, shape.dropout_seed}.factors(
        dropout_row(place.sequence * shape.heads + head, place.position), place.first, place.keys,
        factors.data());
    return factors;
  }

  // The merged row before the output projection.
  std::vector<Wide> context(std::int64_t row) const {
    const Seen place = seen(row);
    std::vector<Wide> merged(index(shape.d_out));
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::vector<Wide> p = softmax(row, head);
      const std::vector<float> factors = dropout(row, head);
      for (std::int64_t c = 0; c < shape.head_dim(); ++c) {
        for (std::size_t j = 0; j < p.size(); ++j) {
          merged[index(head * shape.head_dim() + c)] +=
              static_cast<Wide>(factors[j]) * p[j] *
              value(place.sequence, place.first + static_cast<std::int64_t>(j), head, c, false);
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

/// All rows of the oracle, within a small part of their bounds.
inline void expect_the_definition(const Layer& layer, const reference::Expected& expected) {
  const Definition definition(layer);
  ASSERT_EQ(expected.width, layer.shape.output_width());
  ASSERT_EQ(expected.y.size(), index(layer.shape.rows() * expected.width));
  for (std::int64_t row = 0; row < layer.shape.rows(); ++row) {
    const std::vector<Wide> y = definition.output(definition.context(row), false, 1);
    for (std::size_t c = 0; c < y.size(); ++c) {
      const std::size_t at = index(row) * y.size() + c;
      ASSERT_NEAR(expected.y[at], static_cast<double>(y[c]), 1e-8 * expected.bound[at]);
    }
  }
}

}  // namespace headroom::test
