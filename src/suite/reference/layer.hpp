// Shared by both orders of evaluation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "core/element/cache_bytes.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"
#include "reference/call_rows.hpp"
#include "reference/coarse_bound.hpp"
#include "reference/inputs.hpp"
#include "reference/plain_loops.hpp"
#include "reference/steps/rotation.hpp"

namespace headroom::reference {

using Doubles = std::vector<double>;

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Where a row stands in its sequence, and which of the sequence's keys it sees. Masked tokens are
/// skipped, not multiplied by zero: a NaN there must not leak.
struct Place {
  std::int64_t sequence;
  std::int64_t position;  ///< what came before included
  std::int64_t first_key;
  std::int64_t keys;
  std::int64_t row;  ///< of the call's own rows of the sequence
};

struct Layer {
  const Case& shape;
  const SplitWeights& weights;
  const Inputs& inputs;
  int threads;
  /// f32: sizes are the sums of absolute values that element_bound.hpp is made of; else those of
  /// coarse_bound.hpp.
  Precision operands = Precision::f32;
  Sequences sequences{shape};
  Rotation rotation{shape, reach()};
  double scale = shape.score_scale();

  Place place(std::int64_t row) const;
  /// How far the call reaches, in tokens.
  std::int64_t reach() const;
  /// Keys of a sequence: those of tokens that came before, then the call's own.
  std::int64_t keys(std::int64_t sequence) const;
  /// What key `j` of a sequence is made of, with the keys after it that lie in the same matrix.
  ConstMatrixView tokens(std::int64_t sequence, std::int64_t j) const;
  /// What token `j` of a sequence is turned by.
  Whereabouts whereabouts(std::int64_t sequence, std::int64_t j) const;
  /// Norms and turns the heads of a token, queries or keys.
  /// @param norms weights of the norm
  void prepare(const Whereabouts& token, std::int64_t heads, const std::vector<float>& norms,
               double* values, double* sizes) const;
  /// What is added to a score.
  double position_bias(std::int64_t head, std::int64_t distance) const;
  /// Whether attention multiplies the bytes of its cache, see 6 of coarse_bound.hpp.
  bool attends_bytes() const { return operands == Precision::int8 && inputs.rounds_cache; }
  /// First column of the key that a query head reads.
  std::int64_t key_column(std::int64_t head) const { return key_head(head) * shape.head_dim(); }
  /// The same of the value.
  std::int64_t value_column(std::int64_t head) const {
    return key_head(head) * shape.head_value_dim();
  }
  std::int64_t key_head(std::int64_t head) const {
    return head / (shape.heads / shape.key_heads());
  }
};

/// Values, and the sums of the absolute values of their terms; or how far operands may move them.
struct Sized {
  Doubles values, sizes;

  explicit Sized(std::int64_t count) : values(index(count)), sizes(index(count)) {}
};

/// A row between attention and output projection.
struct MergedRow {
  Doubles context;
  Doubles bound;  ///< of its error, in units of eps; the output projection's share included

  explicit MergedRow(const Case& shape)
      : context(index(shape.context_width())), bound(context.size()) {}
};

inline constexpr Terms kSigned = Terms::signed_values;
inline constexpr Terms kMagnitudes = Terms::magnitudes;

/// `count` columns of a matrix.
inline Block<float> columns(const Matrix& matrix, std::int64_t first, std::int64_t count) {
  return {matrix.view().data + first, matrix.rows, count, matrix.cols};
}

/// Of each value the largest size in its group of the depth, as `int8` rounds it.
template <class A>
Doubles group_sizes(const A* row, std::size_t count) {
  Doubles sizes(count);
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t end = std::min(count, first + kGroup);
    double most = 0;
    for (std::size_t i = first; i < end; ++i) {
      most = std::max(most, std::abs(static_cast<double>(row[i])));
    }
    std::fill(sizes.begin() + static_cast<std::ptrdiff_t>(first),
              sizes.begin() + static_cast<std::ptrdiff_t>(end), most);
  }
  return sizes;
}

/// `row W + b`, and `|row| |W| + |b|` or `coarse_size` of the products.
inline void apply(const Layer& layer, const float* row, const Matrix& matrix,
                  const std::vector<float>& bias, double* values, double* sizes) {
  std::fill_n(values, matrix.cols, 0.0);
  std::fill_n(sizes, matrix.cols, 0.0);
  if (layer.operands != Precision::f32) {
    for (std::size_t c = 0; c < bias.size(); ++c) values[c] = term<kSigned>(1, bias[c]);
    const Block<float> all = columns(matrix, 0, matrix.cols);
    if (layer.operands == Precision::int8) {
      add_product<kSigned>(row, all, values);
      add_product<Terms::squares>(group_sizes(row, index(matrix.rows)).data(), all, sizes);
    } else {
      add_products<Terms::squares>(row, all, values, sizes);
    }
    for (std::int64_t c = 0; c < matrix.cols; ++c) sizes[c] = coarse_size(values[c], sizes[c]);
    return;
  }
  for (std::size_t c = 0; c < bias.size(); ++c) {
    values[c] = term<kSigned>(1, bias[c]);
    sizes[c] = term<kMagnitudes>(1, bias[c]);
  }
  add_products<kMagnitudes>(row, columns(matrix, 0, matrix.cols), values, sizes);
}

/// The same of a row that has sizes of its own, a latent.
inline void apply(const Layer& layer, const Sized& row, const Matrix& matrix, double* values,
                  double* sizes) {
  std::fill_n(values, matrix.cols, 0.0);
  std::fill_n(sizes, matrix.cols, 0.0);
  const Block<float> all = columns(matrix, 0, matrix.cols);
  add_product<kSigned>(row.values.data(), all, values);
  if (layer.operands == Precision::f32) {
    add_product<kMagnitudes>(row.sizes.data(), all, sizes);
    return;
  }
  add_product<Terms::squares>(row.sizes.data(), all, sizes);
  for (std::int64_t c = 0; c < matrix.cols; ++c) sizes[c] = coarse_size(values[c], sizes[c]);
}

/// A row that is given as it is: it carries no error of a product, but its own size.
inline void take(ConstMatrixView matrix, std::int64_t row, double* values, double* sizes) {
  const float* from = matrix.row(row);
  for (std::int64_t c = 0; c < matrix.cols; ++c) {
    values[c] = static_cast<double>(from[c]);
    sizes[c] = std::abs(values[c]);
  }
}

/// Clamps queries, keys or values, as the shape says; sizes hold as they are.
inline void clamp(const Case& shape, std::int64_t count, double* values) {
  if (shape.clip == 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = std::clamp(values[i], -shape.clip, shape.clip);
  }
}

/// The key and value of a token, before they are turned.
/// @param k, v of all key heads
void apply_latent(const Layer& layer, const float* token, Sized& k, Sized& v);

/// Applies the temperature of a position.
void warm(const Case& shape, std::int64_t position, Sized& query);

/// A row's query, as it is scored.
Sized project_query(const Layer& layer, std::int64_t row, std::int64_t position);

/// Caps a scaled score and adds its bias by position and what a mask adds, and its `L_j` with it;
/// see 2 of element_bound.hpp.
/// @param key of those that the row sees
void apply_rule(const Layer& layer, const Place& place, std::int64_t head, std::int64_t key,
                double& score, double& logit);

/// Multiplies what the heads of a row give by its gates.
void apply_gate(const Layer& layer, std::int64_t row, MergedRow& merged);

/// Turns the scaled scores of a head's row into attention weights, dropout included, and the
/// logits `L_j` of element_bound.hpp into the weights of the bound.
/// @return the attention weights before dropout
Doubles weigh(const Layer& layer, const Place& place, std::int64_t head, Doubles& scores,
              Doubles& logits);

/// What one row was made of; per head, the keys that the row sees. The factored order has weights
/// alone.
struct RowTrace {
  Doubles query;
  std::vector<Doubles> scores;   ///< `q.k`, before the scale
  std::vector<Doubles> weights;  ///< after softmax
  std::vector<Doubles> dropped;  ///< after dropout
};

/// k and v of all tokens first, like the definition; for consecutive rows of `expected`.
class DirectOrder {
 public:
  /// Projects the tokens of `count` sequences from `first` on.
  DirectOrder(const Layer& layer, std::int64_t first, std::int64_t count);
  /// @param trace receives what the row was made of; may be null
  MergedRow attend(std::int64_t row, RowTrace* trace = nullptr) const;
  /// Of all sequences that were projected; `reach` keys of each.
  const Doubles& keys() const { return key_.values; }
  const Doubles& values() const { return value_.values; }

 private:
  void project(std::int64_t sequence, std::int64_t key, std::int64_t place);
  void round(std::int64_t sequence);
  std::int64_t first_block(std::int64_t sequence) const {
    return (sequence - first_) * (reach_ / kCacheBlock) * layer_.shape.kv_width();
  }
  Doubles query_spread(const double* query, std::int64_t scales) const;
  Doubles weight_spread(const Place& place, const Doubles& weights, std::int64_t scales) const;

  const Layer& layer_;
  std::int64_t first_;
  std::int64_t first_key_;  // that is kept of each sequence
  std::int64_t reach_;      // and how many of them, the last ones
  Sized key_, value_;       // `kv_width()` and `value_width()` wide
  Sized rounded_;           // keys, where a row sees those of earlier blocks so
  // Of these, block by block and channel by channel, and of values, key by key and head by head.
  Doubles key_scales_, value_scales_;
};

/// For a few rows of a large layer, k and v of all tokens would be most of the work. Products are
/// associative: q.k_j = (W_k q).x_j + q.b_k, and sum_j p_j v_j = (sum_j p_j x_j) W_v + b_v sum_j
/// p_j. Not for rotary positions, which stand between q and W_k.
/// @param threads to share the heads
/// @param trace receives what the row was made of; may be null
MergedRow attend_factored(const Layer& layer, std::int64_t row, int threads,
                          RowTrace* trace = nullptr);

}  // namespace headroom::reference
