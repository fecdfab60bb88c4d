#include <numeric>

#include "reference/layer.hpp"

namespace headroom::reference {
namespace {

/// Of one head: sum_j p_j x_j and sum_j p_j; and sum_j w_j |x_j| and sum_j w_j with the weights of
/// the bound.
struct WeightedInput {
  Doubles x, size;
  double weight = 0;
  double size_weight = 0;
};

/// What turns inputs into scores: W_k q and |W_k| Qa, q.b_k and Qa.|b_k|.
struct Direction {
  Doubles values, sizes;
  double offset = 0;
  double offset_size = 0;
};

Direction direction_of(const Layer& layer, std::int64_t column, const Sized& query) {
  const std::int64_t head_dim = layer.shape.head_dim();
  const double* q = query.values.data() + column;
  const double* q_size = query.sizes.data() + column;
  const Block<float> key = columns(layer.weights.key, column, head_dim);
  Direction direction{Doubles(index(key.rows)), Doubles(index(key.rows))};
  for (std::int64_t k = 0; k < key.rows; ++k) {
    const float* w = key.data + k * key.stride;
    direction.values[index(k)] = dot<kSigned>(q, w, head_dim);
    direction.sizes[index(k)] = dot<kMagnitudes>(q_size, w, head_dim);
  }
  const std::vector<float>& bias = layer.weights.key_bias;
  if (bias.empty()) return direction;
  // The same for every j, so softmax cancels it, unless it is NaN or Inf.
  direction.offset = dot<kSigned>(q, bias.data() + column, head_dim);
  direction.offset_size = dot<kMagnitudes>(q_size, bias.data() + column, head_dim);
  return direction;
}

// Without k there is no L_j of element_bound.hpp, but the scale Qa.Ka_j of numerics.md, which is
// not less: |x_j|.(|W_k| Qa) + Qa.|b_k|.
WeightedInput weigh_input(const Layer& layer, std::int64_t row, std::int64_t head,
                          const Direction& direction) {
  const std::int64_t seen = layer.visible(row);
  const Block<float> x{layer.x.row(layer.sequence(row) * layer.shape.tokens), seen,
                       layer.shape.d_in, layer.x.row_stride};
  Doubles scores(index(seen));
  Doubles logits(index(seen));
  for (std::int64_t j = 0; j < seen; ++j) {
    const float* token = x.data + j * x.stride;
    const double score = dot<kSigned>(direction.values.data(), token, x.cols);
    const double logit = dot<kMagnitudes>(direction.sizes.data(), token, x.cols);
    scores[index(j)] = layer.scale * (score + direction.offset);
    logits[index(j)] = layer.scale * (logit + direction.offset_size);
  }
  weigh(layer, row, head, scores, logits);
  WeightedInput sum{Doubles(index(x.cols)), Doubles(index(x.cols))};
  add_product<kSigned>(scores.data(), x, sum.x.data());
  add_product<kMagnitudes>(logits.data(), x, sum.size.data());
  sum.weight = std::accumulate(scores.begin(), scores.end(), 0.0);
  sum.size_weight = std::accumulate(logits.begin(), logits.end(), 0.0);
  return sum;
}

}  // namespace

MergedRow attend_factored(const Layer& layer, std::int64_t row) {
  const std::int64_t head_dim = layer.shape.head_dim();
  MergedRow merged(layer.shape);
  Sized query(layer.shape.d_out);
  apply(layer.x.row(row), layer.weights.query, layer.weights.query_bias, query.values.data(),
        query.sizes.data());
  for (std::int64_t head = 0; head < layer.shape.heads; ++head) {
    const std::int64_t column = head * head_dim;
    const WeightedInput sum = weigh_input(layer, row, head, direction_of(layer, column, query));
    const Block<float> value = columns(layer.weights.value, column, head_dim);
    double* context = merged.context.data() + column;
    double* bound = merged.bound.data() + column;
    add_product<kSigned>(sum.x.data(), value, context);
    add_product<kMagnitudes>(sum.size.data(), value, bound);
    if (layer.weights.value_bias.empty()) continue;
    const Block<float> bias{layer.weights.value_bias.data() + column, 1, head_dim, head_dim};
    add_product<kSigned>(&sum.weight, bias, context);
    add_product<kMagnitudes>(&sum.size_weight, bias, bound);
  }
  return merged;
}

}  // namespace headroom::reference
