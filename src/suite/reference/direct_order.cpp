#include <utility>

#include "reference/layer.hpp"

namespace headroom::reference {

DirectOrder::DirectOrder(const Layer& layer, std::int64_t first, std::int64_t count)
    : layer_(layer),
      first_(first),
      reach_(seen_keys(layer.shape)),
      key_(count * reach_ * layer.shape.kv_width()),
      value_(count * reach_ * layer.shape.value_width()) {
  parallel_for(layer.threads, count * reach_, [&](std::int64_t t) {
    const std::int64_t sequence = first + t / reach_;
    const std::int64_t key = first_seen_key(layer.shape) + t % reach_;
    if (key < layer.keys(sequence)) project(sequence, key, t);
  });
}

// @param place of the key among those that are kept
void DirectOrder::project(std::int64_t sequence, std::int64_t key, std::int64_t place) {
  double* k = key_.values.data() + place * layer_.shape.kv_width();
  double* k_size = key_.sizes.data() + place * layer_.shape.kv_width();
  double* v = value_.values.data() + place * layer_.shape.value_width();
  double* v_size = value_.sizes.data() + place * layer_.shape.value_width();
  if (!layer_.shape.has_projections()) {
    const std::int64_t row = sequence * layer_.shape.context() + key;
    take(layer_.inputs.key, row, k, k_size);
    take(layer_.inputs.value, row, v, v_size);
    return;
  }
  const float* token = layer_.tokens(sequence, key).data;
  const SplitWeights& w = layer_.weights;
  if (layer_.shape.is_latent()) {
    Sized keys(layer_.shape.kv_width()), values(layer_.shape.value_width());
    apply_latent(layer_, token, keys, values);
    std::copy(keys.values.begin(), keys.values.end(), k);
    std::copy(keys.sizes.begin(), keys.sizes.end(), k_size);
    std::copy(values.values.begin(), values.values.end(), v);
    std::copy(values.sizes.begin(), values.sizes.end(), v_size);
    layer_.prepare(layer_.whereabouts(sequence, key), layer_.shape.key_heads(), {}, k, k_size);
    return;
  }
  apply(layer_, token, w.key, w.key_bias, k, k_size);
  clamp(layer_.shape, layer_.shape.kv_width(), k);
  layer_.prepare(layer_.whereabouts(sequence, key), layer_.shape.key_heads(), w.key_norm, k,
                 k_size);
  apply(layer_, token, w.value, w.value_bias, v, v_size);
  clamp(layer_.shape, layer_.shape.value_width(), v);
}

MergedRow DirectOrder::attend(std::int64_t row, RowTrace* trace) const {
  const std::int64_t width = layer_.shape.kv_width();
  const std::int64_t head_dim = layer_.shape.head_dim();
  const std::int64_t value_width = layer_.shape.value_width();
  const std::int64_t value_dim = layer_.shape.head_value_dim();
  const Place place = layer_.place(row);
  const std::int64_t first =
      (place.sequence - first_) * reach_ + place.first_key - first_seen_key(layer_.shape);
  MergedRow merged(layer_.shape);
  const Sized query = project_query(layer_, row, place.position);
  if (trace != nullptr) trace->query = query.values;
  Doubles scores(index(place.keys));
  Doubles logits(index(place.keys));
  for (std::int64_t head = 0; head < layer_.shape.heads; ++head) {
    const std::int64_t column = head * head_dim;
    const std::int64_t start = first * width + layer_.key_column(head);
    const double* q = query.values.data() + column;
    const double* q_size = query.sizes.data() + column;
    if (trace != nullptr) trace->scores.emplace_back();
    for (std::int64_t j = 0; j < place.keys; ++j) {
      const std::int64_t at = start + j * width;
      const double* k = key_.values.data() + at;
      const double* k_size = key_.sizes.data() + at;
      const SizedDot score = layer_.operands == Precision::f32
                                 ? sized_dot(q, q_size, k, k_size, head_dim)
                                 : independent_dot(q, q_size, k, k_size, head_dim);
      scores[index(j)] = layer_.scale * score.value;
      logits[index(j)] = layer_.scale / 2 * score.size;
      apply_rule(layer_, place, head, j, scores[index(j)], logits[index(j)]);
      if (trace != nullptr) trace->scores.back().push_back(score.value);
    }
    Doubles weights = weigh(layer_, place, head, scores, logits);
    if (trace != nullptr) {
      trace->weights.push_back(std::move(weights));
      trace->dropped.push_back(scores);
    }
    if (place.keys == 0) continue;  // perhaps there are no values at all to point to
    const std::int64_t at = first * value_width + layer_.value_column(head);
    const Block<double> value{value_.values.data() + at, place.keys, value_dim, value_width};
    const Block<double> size{value_.sizes.data() + at, place.keys, value_dim, value_width};
    add_product<kSigned>(scores.data(), value, merged.context.data() + head * value_dim);
    add_product<kSigned>(logits.data(), size, merged.bound.data() + head * value_dim);
  }
  apply_gate(layer_, row, merged);
  return merged;
}

}  // namespace headroom::reference
