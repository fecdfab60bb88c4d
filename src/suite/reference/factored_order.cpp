#include <numeric>
#include <utility>

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

Direction direction_of(const Layer& layer, std::int64_t head, const Sized& query) {
  const std::int64_t head_dim = layer.shape.head_dim();
  const std::int64_t column = layer.key_column(head);
  const double* q = query.values.data() + head * head_dim;
  const double* q_size = query.sizes.data() + head * head_dim;
  const Block<float> key = columns(layer.weights.key, column, head_dim);
  Direction direction{Doubles(index(key.rows)), Doubles(index(key.rows))};
  for (std::int64_t k = 0; k < key.rows; ++k) {
    const float* w = key.data + k * key.stride;
    direction.values[index(k)] = dot<kSigned>(q, w, head_dim);
    direction.sizes[index(k)] = dot<kMagnitudes>(q_size, w, head_dim);
  }
  const std::vector<float>& bias = layer.weights.key_bias;
  if (bias.empty()) return direction;
  // The same for every j, so softmax cancels it, unless there is a cap or a sink, or NaN or Inf.
  direction.offset = dot<kSigned>(q, bias.data() + column, head_dim);
  direction.offset_size = dot<kMagnitudes>(q_size, bias.data() + column, head_dim);
  return direction;
}

// The tokens that a row sees, as what came before and as the call's own, each with the number of
// tokens before it.
template <class Visit>
void for_each_part(const Layer& layer, const Place& place, const Visit& visit) {
  for (std::int64_t first = 0; first < place.keys;) {
    const ConstMatrixView part = layer.tokens(place.sequence, place.first_key + first);
    const std::int64_t count = std::min(part.rows, place.keys - first);
    visit(Block<float>{part.data, count, part.cols, part.row_stride}, first);
    first += count;
  }
}

// Without k there is no L_j of element_bound.hpp, but the scale Qa.Ka_j of docs/numerics.md, which
// is not less: |x_j|.(|W_k| Qa) + Qa.|b_k|.
// @param trace of the row; null or with room for each head
WeightedInput weigh_input(const Layer& layer, const Place& place, std::int64_t head,
                          const Direction& direction, RowTrace* trace) {
  const std::int64_t width = layer.shape.key_input();
  Doubles scores(index(place.keys));
  Doubles logits(index(place.keys));
  for_each_part(layer, place, [&](const Block<float>& x, std::int64_t first) {
    for (std::int64_t j = 0; j < x.rows; ++j) {
      const float* token = x.data + j * x.stride;
      const double score = dot<kSigned>(direction.values.data(), token, width);
      const double logit = dot<kMagnitudes>(direction.sizes.data(), token, width);
      scores[index(first + j)] = layer.scale * (score + direction.offset);
      logits[index(first + j)] = layer.scale * (logit + direction.offset_size);
      apply_rule(layer, place, head, first + j, scores[index(first + j)], logits[index(first + j)]);
    }
  });
  Doubles weights = weigh(layer, place, head, scores, logits);
  if (trace != nullptr) trace->weights[index(head)] = std::move(weights);
  WeightedInput sum{Doubles(index(width)), Doubles(index(width))};
  for_each_part(layer, place, [&](const Block<float>& x, std::int64_t first) {
    add_product<kSigned>(scores.data() + first, x, sum.x.data());
    add_product<kMagnitudes>(logits.data() + first, x, sum.size.data());
  });
  sum.weight = std::accumulate(scores.begin(), scores.end(), 0.0);
  sum.size_weight = std::accumulate(logits.begin(), logits.end(), 0.0);
  return sum;
}

void attend_head(const Layer& layer, const Place& place, std::int64_t head, const Sized& query,
                 MergedRow& merged, RowTrace* trace) {
  const std::int64_t value_dim = layer.shape.head_value_dim();
  const std::int64_t column = layer.value_column(head);
  const WeightedInput sum =
      weigh_input(layer, place, head, direction_of(layer, head, query), trace);
  const Block<float> value = columns(layer.weights.value, column, value_dim);
  double* context = merged.context.data() + head * value_dim;
  double* bound = merged.bound.data() + head * value_dim;
  add_product<kSigned>(sum.x.data(), value, context);
  add_product<kMagnitudes>(sum.size.data(), value, bound);
  if (layer.weights.value_bias.empty()) return;
  const Block<float> bias{layer.weights.value_bias.data() + column, 1, value_dim, value_dim};
  add_product<kSigned>(&sum.weight, bias, context);
  add_product<kMagnitudes>(&sum.size_weight, bias, bound);
}

}  // namespace

MergedRow attend_factored(const Layer& layer, std::int64_t row, int threads, RowTrace* trace) {
  const Place place = layer.place(row);
  MergedRow merged(layer.shape);
  const Sized query = project_query(layer, row, place.position);
  if (trace != nullptr) trace->weights.resize(index(layer.shape.heads));
  parallel_for(threads, layer.shape.heads,
               [&](std::int64_t head) { attend_head(layer, place, head, query, merged, trace); });
  apply_gate(layer, row, merged);
  return merged;
}

}  // namespace headroom::reference
