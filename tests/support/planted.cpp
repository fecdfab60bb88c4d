#include "support/planted.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "headroom/dropout.hpp"

namespace headroom::test {
namespace {

constexpr std::array<std::pair<Fault, std::string_view>, 14> kNames{{
    {Fault::none, "none"},
    {Fault::all_zeros, "all zeros"},
    {Fault::one_nan, "one NaN"},
    {Fault::one_negative_value_doubled, "one negative value doubled"},
    {Fault::one_bad_element, "one bad element"},
    {Fault::swapped_heads, "swapped heads"},
    {Fault::scale_by_head_dim, "scale by head_dim"},
    {Fault::scale_five_percent_up, "scale 5 % up"},
    {Fault::mask_off_by_one, "mask off by one"},
    {Fault::dropout_not_rescaled, "dropout not rescaled"},
    {Fault::query_bias_left_out, "query bias left out"},
    {Fault::value_bias_left_out, "value bias left out"},
    {Fault::output_bias_left_out, "output bias left out"},
    {Fault::value_of_another_token, "value of another token"},
}};

// A row-major matrix in double.
struct Table {
  std::int64_t cols = 0;
  std::vector<double> values;

  Table(std::int64_t rows, std::int64_t width)
      : cols(width), values(static_cast<std::size_t>(rows * width)) {}
  double& at(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
  double at(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
};

Table multiply(const Table& a, std::int64_t rows, const Matrix& b, const std::vector<float>& bias,
               bool with_bias) {
  Table product(rows, b.cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < b.cols && with_bias && !bias.empty(); ++c) {
      product.at(r, c) = static_cast<double>(bias[static_cast<std::size_t>(c)]);
    }
    for (std::int64_t k = 0; k < b.rows; ++k) {
      for (std::int64_t c = 0; c < b.cols; ++c) {
        product.at(r, c) += a.at(r, k) * static_cast<double>(b.view().row(k)[c]);
      }
    }
  }
  return product;
}

struct Planting {
  const Shape& shape;
  Fault fault;
  Table query, key, value;

  // Keys that token `i` of a sequence sees.
  std::int64_t visible(std::int64_t i) const {
    const std::int64_t right = shape.causal ? i + 1 : shape.tokens;
    if (fault != Fault::mask_off_by_one) return right;
    return shape.causal ? std::min(right + 1, shape.tokens) : right - 1;
  }

  double scale() const {
    const auto width = static_cast<double>(shape.head_dim());
    if (fault == Fault::scale_by_head_dim) return 1 / width;
    return (fault == Fault::scale_five_percent_up ? 1.05 : 1) / std::sqrt(width);
  }

  std::vector<double> attention_weights(std::int64_t sequence, std::int64_t head,
                                        std::int64_t token) const {
    const std::int64_t first = sequence * shape.tokens;
    std::vector<double> p(static_cast<std::size_t>(visible(token)));
    for (std::size_t j = 0; j < p.size(); ++j) {
      for (std::int64_t c = head * shape.head_dim(); c < (head + 1) * shape.head_dim(); ++c) {
        p[j] +=
            scale() * query.at(first + token, c) * key.at(first + static_cast<std::int64_t>(j), c);
      }
    }
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& score : p) sum += score = std::exp(score - largest);
    std::vector<float> factors(p.size(), 1.0F);
    if (shape.dropout > 0) {
      const auto row =
          static_cast<std::uint64_t>((sequence * shape.heads + head) * shape.tokens + token);
      DropoutPattern{shape.dropout, shape.dropout_seed}.factors(
          row, 0, static_cast<std::int64_t>(p.size()), factors.data());
    }
    const double kept = fault == Fault::dropout_not_rescaled ? 1 - shape.dropout : 1;
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] *= static_cast<double>(factors[j]) * kept / sum;
    }
    return p;
  }

  Table merged() const {
    Table result(shape.rows(), shape.d_out);
    const std::int64_t head_dim = shape.head_dim();
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const std::int64_t sequence = row / shape.tokens;
      for (std::int64_t head = 0; head < shape.heads; ++head) {
        const std::int64_t to =
            (fault == Fault::swapped_heads ? (head + 1) % shape.heads : head) * head_dim;
        const std::vector<double> p = attention_weights(sequence, head, row % shape.tokens);
        for (std::size_t j = 0; j < p.size(); ++j) {
          const std::int64_t token = sequence * shape.tokens + static_cast<std::int64_t>(j);
          for (std::int64_t c = 0; c < head_dim; ++c) {
            result.at(row, to + c) += p[j] * value.at(token, head * head_dim + c);
          }
        }
      }
    }
    return result;
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

}  // namespace

std::string_view to_string(Fault fault) {
  for (const auto& [named, name] : kNames) {
    if (named == fault) return name;
  }
  return "unknown";
}

std::vector<Fault> faults_of(const Shape& shape) {
  std::vector<Fault> faults;
  for (const auto& [fault, name] : kNames) {
    const bool shows = [&, each = fault] {
      switch (each) {
        case Fault::none:
          return false;
        case Fault::swapped_heads:
          return shape.heads > 1;
        case Fault::scale_by_head_dim:
          return shape.head_dim() > 1 && shape.tokens > 1;
        case Fault::scale_five_percent_up:
        case Fault::mask_off_by_one:
        case Fault::value_of_another_token:
          return shape.tokens > 1;
        case Fault::dropout_not_rescaled:
          return shape.dropout > 0;
        case Fault::query_bias_left_out:
          return shape.qkv_bias && shape.tokens > 1;
        case Fault::value_bias_left_out:
          return shape.qkv_bias;
        case Fault::output_bias_left_out:
          return shape.d_proj > 0;
        default:
          return true;
      }
    }();
    if (shows) faults.push_back(fault);
  }
  return faults;
}

Matrix planted(const Shape& shape, const SplitWeights& weights, const Matrix& x, Fault fault) {
  const std::int64_t rows = shape.rows();
  Table input(rows, shape.d_in);
  std::copy(x.values.begin(), x.values.end(), input.values.begin());
  Planting planting{
      shape, fault,
      multiply(input, rows, weights.query, weights.query_bias, fault != Fault::query_bias_left_out),
      multiply(input, rows, weights.key, weights.key_bias, true),
      multiply(input, rows, weights.value, weights.value_bias,
               fault != Fault::value_bias_left_out)};
  if (fault == Fault::value_of_another_token) {
    const std::int64_t middle = shape.tokens / 2;
    for (std::int64_t c = 0; c < shape.d_out; ++c) {
      planting.value.at(middle, c) = planting.value.at(middle - 1, c);
    }
  }
  Table result = planting.merged();
  if (shape.d_proj > 0) {
    result = multiply(result, rows, weights.output, weights.output_bias,
                      fault != Fault::output_bias_left_out);
  }
  Matrix y(rows, shape.output_width());
  std::transform(result.values.begin(), result.values.end(), y.values.begin(),
                 [](double value) { return static_cast<float>(value); });
  spoil(y, fault);
  return y;
}

}  // namespace headroom::test
