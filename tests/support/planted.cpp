#include "support/planted.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "headroom/dropout.hpp"

namespace headroom::test {
namespace {

// A row-major matrix.
template <class Real>
struct Table {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<Real> values;

  Table(std::int64_t height, std::int64_t width)
      : rows(height), cols(width), values(static_cast<std::size_t>(height * width)) {}
  Real& at(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
  Real at(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
};

template <class Real>
Table<Real> multiply(const Table<Real>& a, const Matrix& b, const std::vector<float>& bias,
                     bool with_bias) {
  Table<Real> product(a.rows, b.cols);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < b.cols && with_bias && !bias.empty(); ++c) {
      product.at(r, c) = static_cast<Real>(bias[static_cast<std::size_t>(c)]);
    }
    for (std::int64_t k = 0; k < b.rows; ++k) {
      for (std::int64_t c = 0; c < b.cols; ++c) {
        product.at(r, c) += a.at(r, k) * static_cast<Real>(b.view().row(k)[c]);
      }
    }
  }
  return product;
}

// A sequence's rows and keys among all.
struct Sequence {
  std::int64_t number = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
};

std::vector<Sequence> sequences_in(const Case& shape) {
  std::vector<Sequence> all;
  Sequence next;
  for (; next.number < shape.batch; ++next.number) {
    next.rows = shape.length(next.number);
    next.keys = shape.past + (shape.d_memory > 0 ? shape.memory_tokens : next.rows);
    all.push_back(next);
    next.first_row += next.rows;
    next.first_key += next.keys;
  }
  return all;
}

template <class Real>
Table<Real> table_of(const Matrix& matrix) {
  Table<Real> table(matrix.rows, matrix.cols);
  std::copy(matrix.values.begin(), matrix.values.end(), table.values.begin());
  return table;
}

// What all keys are made of, sequence by sequence.
template <class Real>
Table<Real> key_inputs(const Layer& layer, const std::vector<Sequence>& sequences) {
  const Case& shape = layer.shape;
  const Matrix& own = shape.d_memory > 0 ? layer.memory : layer.x;
  Table<Real> inputs(sequences.empty() ? 0 : sequences.back().first_key + sequences.back().keys,
                     shape.key_input());
  auto to = inputs.values.begin();
  auto past = layer.past.values.begin();
  auto next = own.values.begin();
  for (const Sequence& sequence : sequences) {
    const auto take = [&](auto& from, std::int64_t tokens) {
      to = std::copy_n(from, tokens * shape.key_input(), to);
      from += tokens * shape.key_input();
    };
    take(past, shape.past);
    take(next, sequence.keys - shape.past);
  }
  return inputs;
}

// Turns all heads of one row.
template <class Real>
void turn(const Rotary& rotary, std::int64_t head_dim, std::int64_t position, Table<Real>& table,
          std::int64_t row) {
  const bool neighbours = rotary.pairs == Rotary::Pairs::neighbours;
  for (std::int64_t head = 0; head < table.cols; head += head_dim) {
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
      const double frequency =
          std::pow(rotary.base, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
      const double angle = static_cast<double>(position) * rotary.scale * frequency;
      const auto cosine = static_cast<Real>(std::cos(angle));
      const auto sine = static_cast<Real>(std::sin(angle));
      Real& a = table.at(row, head + (neighbours ? 2 * i : i));
      Real& b = table.at(row, head + (neighbours ? 2 * i + 1 : i + head_dim / 2));
      const Real turned = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = turned;
    }
  }
}

template <class Real>
struct Planting {
  const Case& shape;
  Fault fault;
  std::vector<Sequence> sequences;
  Table<Real> query, key, value;

  std::int64_t position(std::int64_t in_call) const {
    return shape.d_memory > 0 ? in_call : shape.past + in_call;
  }

  void turn_all() {
    Rotary rotary = shape.rotary;
    if (rotary.pairs == Rotary::Pairs::none) return;
    if (fault == Fault::rotary_other_pairs) {
      rotary.pairs =
          rotary.pairs == Rotary::Pairs::halves ? Rotary::Pairs::neighbours : Rotary::Pairs::halves;
    }
    const std::int64_t left_out = fault == Fault::rotary_from_the_call ? shape.past : 0;
    for (const Sequence& s : sequences) {
      for (std::int64_t i = 0; i < s.rows; ++i) {
        turn(rotary, shape.head_dim(), position(i) - left_out, query, s.first_row + i);
      }
      for (std::int64_t j = 0; j < s.keys; ++j) {
        const std::int64_t where = j < shape.past ? j : j - left_out;
        turn(rotary, shape.head_dim(), where, key, s.first_key + j);
      }
    }
  }

  // One after the last key that token `i` of a sequence sees.
  std::int64_t end(const Sequence& sequence, std::int64_t i) const {
    const std::int64_t right = shape.causal ? position(i) + 1 : sequence.keys;
    if (fault == Fault::past_off_by_one) return right - 1;
    if (fault != Fault::mask_off_by_one) return right;
    return shape.causal ? std::min(right + 1, sequence.keys) : right - 1;
  }

  std::int64_t begin(std::int64_t i) const {
    if (shape.window == 0) return 0;
    std::int64_t window = shape.window;
    if (fault == Fault::window_one_key_more) ++window;
    if (fault == Fault::window_one_key_fewer) --window;
    return std::max<std::int64_t>(0, position(i) + 1 - window);
  }

  Real scale() const {
    const auto width = static_cast<double>(shape.head_dim());
    if (fault == Fault::scale_by_head_dim) return static_cast<Real>(1 / width);
    const double factor = fault == Fault::scale_five_percent_up ? 1.05 : 1;
    return static_cast<Real>(factor / std::sqrt(width));
  }

  // Keys that token `i` of a sequence sees, as rows of `key`; and what dropout makes of them.
  std::vector<std::int64_t> keys_of(const Sequence& sequence, std::int64_t i) const {
    std::vector<std::int64_t> keys;
    for (std::int64_t j = begin(i); j < end(sequence, i); ++j) {
      keys.push_back(sequence.first_key + j);
    }
    const bool leaks = fault == Fault::sequences_leak && sequence.first_key > 0;
    if (leaks) keys.push_back(sequence.first_key - 1);
    return keys;
  }

  std::vector<float> factors_of(const Sequence& sequence, std::int64_t head, std::int64_t i,
                                std::size_t keys) const {
    std::vector<float> factors(keys, 1.0F);
    if (shape.dropout == 0) return factors;
    DropoutPattern{shape.dropout, shape.dropout_seed}.factors(
        dropout_row(sequence.number * shape.heads + head, position(i)), begin(i),
        static_cast<std::int64_t>(keys), factors.data());
    return factors;
  }

  // First column of the key head.
  std::int64_t key_column(std::int64_t head) const {
    const std::int64_t number = fault == Fault::key_head_of_another_group
                                    ? head % shape.key_heads()
                                    : head * shape.key_heads() / shape.heads;
    return number * shape.head_dim();
  }

  std::vector<Real> attention_weights(const Sequence& sequence, std::int64_t head, std::int64_t i,
                                      const std::vector<std::int64_t>& keys) const {
    std::vector<Real> p(keys.size());
    for (std::size_t j = 0; j < p.size(); ++j) {
      for (std::int64_t c = 0; c < shape.head_dim(); ++c) {
        p[j] += scale() * query.at(sequence.first_row + i, head * shape.head_dim() + c) *
                key.at(keys[j], key_column(head) + c);
      }
    }
    const Real largest = p.empty() ? 0 : *std::max_element(p.begin(), p.end());
    Real sum = 0;
    for (Real& score : p) sum += score = std::exp(score - largest);
    const std::vector<float> factors = factors_of(sequence, head, i, keys.size());
    const auto kept =
        static_cast<Real>(fault == Fault::dropout_not_rescaled ? 1 - shape.dropout : 1);
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] *= static_cast<Real>(factors[j]) * kept / sum;
    }
    return p;
  }

  void attend(const Sequence& sequence, std::int64_t i, Table<Real>& result) const {
    const std::int64_t head_dim = shape.head_dim();
    const std::vector<std::int64_t> keys = keys_of(sequence, i);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t to =
          (fault == Fault::swapped_heads ? (head + 1) % shape.heads : head) * head_dim;
      const std::vector<Real> p = attention_weights(sequence, head, i, keys);
      for (std::size_t j = 0; j < p.size(); ++j) {
        for (std::int64_t c = 0; c < head_dim; ++c) {
          result.at(sequence.first_row + i, to + c) +=
              p[j] * value.at(keys[j], key_column(head) + c);
        }
      }
    }
  }

  Table<Real> merged() const {
    Table<Real> result(shape.rows(), shape.d_out);
    for (const Sequence& sequence : sequences) {
      for (std::int64_t i = 0; i < sequence.rows; ++i) attend(sequence, i, result);
    }
    return result;
  }

  // The middle key that the last row of the longest sequence sees.
  void take_value_of_neighbour() {
    const auto longest = std::max_element(sequences.begin(), sequences.end(),
                                          [](auto& a, auto& b) { return a.rows < b.rows; });
    const std::vector<std::int64_t> keys = keys_of(*longest, longest->rows - 1);
    const std::int64_t middle = keys[keys.size() / 2];
    for (std::int64_t c = 0; c < value.cols; ++c) {
      value.at(middle, c) = value.at(middle > 0 ? middle - 1 : 1, c);
    }
  }
};

void spoil(Matrix& y, Fault fault) {
  std::vector<float>& values = y.values;
  const auto by_size = [](float a, float b) { return std::abs(a) < std::abs(b); };
  if (fault == Fault::all_zeros) std::fill(values.begin(), values.end(), 0.0F);
  if (fault == Fault::one_nan) values.back() = std::numeric_limits<float>::quiet_NaN();
  if (fault == Fault::one_negative_value_doubled) {
    *std::min_element(values.begin(), values.end()) *= 2;
  }
  if (fault == Fault::one_bad_element) {
    *std::max_element(values.begin(), values.end(), by_size) *= 1.01F;
  }
}

template <class Real>
Matrix compute(const Layer& layer, Fault fault) {
  const Case& shape = layer.shape;
  const SplitWeights& w = layer.weights;
  const std::vector<Sequence> sequences = sequences_in(shape);
  const auto inputs = key_inputs<Real>(layer, sequences);
  Planting<Real> planting{
      shape,
      fault,
      sequences,
      multiply(table_of<Real>(layer.x), w.query, w.query_bias, fault != Fault::query_bias_left_out),
      multiply(inputs, w.key, w.key_bias, true),
      multiply(inputs, w.value, w.value_bias, fault != Fault::value_bias_left_out)};
  planting.turn_all();
  if (fault == Fault::value_of_another_token) planting.take_value_of_neighbour();
  Table<Real> result = planting.merged();
  if (shape.d_proj > 0) {
    result = multiply(result, w.output, w.output_bias, fault != Fault::output_bias_left_out);
  }
  Matrix y(shape.rows(), shape.output_width());
  std::transform(result.values.begin(), result.values.end(), y.values.begin(),
                 [](Real value) { return static_cast<float>(value); });
  spoil(y, fault);
  return y;
}

}  // namespace

Matrix planted(const Layer& layer, Fault fault) { return compute<double>(layer, fault); }

Matrix in_float(const Layer& layer) { return compute<float>(layer, Fault::none); }

}  // namespace headroom::test
