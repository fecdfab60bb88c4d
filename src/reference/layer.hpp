// Shared by both orders of evaluation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headroom/shape.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/plain_loops.hpp"

namespace headroom::reference {

using Doubles = std::vector<double>;

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

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

/// Values, and the sums of the absolute values of their terms.
struct Sized {
  Doubles values, sizes;

  explicit Sized(std::int64_t count) : values(index(count)), sizes(index(count)) {}
};

/// A row between attention and output projection.
struct MergedRow {
  Doubles context;
  Doubles bound;  ///< of its error, in units of eps; the output projection's share included

  explicit MergedRow(const Shape& shape) : context(index(shape.d_out)), bound(index(shape.d_out)) {}
};

inline constexpr Terms kSigned = Terms::signed_values;
inline constexpr Terms kMagnitudes = Terms::magnitudes;

/// `count` columns of a matrix.
inline Block<float> columns(const Matrix& matrix, std::int64_t first, std::int64_t count) {
  return {matrix.view().data + first, matrix.rows, count, matrix.cols};
}

/// `row W + b` and `|row| |W| + |b|`
inline void apply(const float* row, const Matrix& matrix, const std::vector<float>& bias,
                  double* values, double* sizes) {
  std::fill_n(values, matrix.cols, 0.0);
  std::fill_n(sizes, matrix.cols, 0.0);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    values[c] = term<kSigned>(1, bias[c]);
    sizes[c] = term<kMagnitudes>(1, bias[c]);
  }
  add_products(row, columns(matrix, 0, matrix.cols), values, sizes);
}

/// Turns the scaled scores of a row and head into attention weights, dropout included, and the
/// logits `L_j` of element_bound.hpp into the weights of the bound.
void weigh(const Layer& layer, std::int64_t row, std::int64_t head, Doubles& scores,
           Doubles& logits);

/// q, k and v of all tokens first, like the definition; for consecutive rows of `expected`.
class DirectOrder {
 public:
  /// Projects `count` tokens from `first` on.
  DirectOrder(const Layer& layer, std::int64_t first, std::int64_t count);
  MergedRow attend(std::int64_t row) const;

 private:
  const Layer& layer_;
  std::int64_t first_;
  Sized key_, value_;  // `d_out` wide
};

/// For a few rows of a large layer, k and v of all tokens would be most of the work. Products are
/// associative: q.k_j = (W_k q).x_j + q.b_k, and sum_j p_j v_j = (sum_j p_j x_j) W_v + b_v sum_j
/// p_j.
MergedRow attend_factored(const Layer& layer, std::int64_t row);

}  // namespace headroom::reference
