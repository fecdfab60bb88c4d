#include "reference/layer.hpp"

#include <optional>
#include <utility>

#include "headroom/dropout.hpp"
#include "reference/element_bound.hpp"
#include "reference/norm.hpp"

namespace headroom::reference {

Place Layer::place(std::int64_t row) const {
  const std::int64_t sequence = sequences.of(row);
  const std::int64_t in_call = row - sequences.first(sequence);
  // What came before a second input's tokens does not move the rows of x.
  if (shape.d_memory > 0) return {sequence, in_call, 0, keys(sequence)};
  const std::int64_t position = shape.past + in_call;
  std::int64_t first_key = 0;
  std::int64_t end = shape.causal ? position + 1 : keys(sequence);
  if (shape.window > 0) {
    first_key = std::max<std::int64_t>(0, position - (shape.window - 1));
    if (end - position > shape.window) end = position + shape.window;
  }
  if (shape.chunk > 0) first_key = std::max(first_key, position - position % shape.chunk);
  return {sequence, position, first_key, end - first_key};
}

std::int64_t Layer::keys(std::int64_t sequence) const {
  return shape.past + (shape.d_memory > 0 ? shape.memory_tokens : shape.length(sequence));
}

ConstMatrixView Layer::tokens(std::int64_t sequence, std::int64_t j) const {
  if (j < shape.past) return inputs.past.slice(sequence * shape.past + j, shape.past - j);
  const std::int64_t count = keys(sequence) - j;
  const std::int64_t in_call = j - shape.past;
  if (shape.d_memory == 0) return inputs.x.slice(sequences.first(sequence) + in_call, count);
  return inputs.memory.slice(sequence * shape.memory_tokens + in_call, count);
}

Sized project_query(const Layer& layer, std::int64_t row, std::int64_t position) {
  Sized query(layer.shape.d_out);
  if (!layer.shape.has_projections()) {
    take(layer.inputs.x, row, query.values.data(), query.sizes.data());
    return query;
  }
  apply(layer, layer.inputs.x.row(row), layer.weights.query, layer.weights.query_bias,
        query.values.data(), query.sizes.data());
  layer.prepare(position, layer.shape.heads, layer.weights.query_norm, query.values.data(),
                query.sizes.data());
  return query;
}

void Layer::prepare(std::int64_t position, std::int64_t heads, const std::vector<float>& weights,
                    double* values, double* sizes) const {
  if (!shape.norm.after_rotary) normalise(shape, heads, weights, values, sizes);
  rotation.turn(position, heads, values, sizes);
  if (shape.norm.after_rotary) normalise(shape, heads, weights, values, sizes);
}

void cap(const Case& shape, double& score, double& logit) {
  if (shape.softcap == 0) return;
  const double tanh = std::tanh(score / shape.softcap);
  score = shape.softcap * tanh;
  logit = logit * (1 - tanh * tanh) + std::abs(score);
}

Doubles weigh(const Layer& layer, const Place& place, std::int64_t head, Doubles& scores,
              Doubles& logits) {
  const std::vector<float>& sinks = layer.weights.sinks;
  Softmax result =
      softmax(scores, layer.shape.sinks ? std::optional(static_cast<double>(sinks[index(head)]))
                                        : std::nullopt);
  scores = result.weights;
  std::vector<float> factors;
  if (layer.shape.dropout > 0) {
    const DropoutPattern pattern{layer.shape.dropout, layer.shape.dropout_seed};
    factors.resize(scores.size());
    pattern.factors(dropout_row(place.sequence * layer.shape.heads + head, place.position),
                    place.first_key, place.keys, factors.data());
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] *= static_cast<double>(factors[j]);
  }
  const bool coarse = layer.operands != Precision::f32;
  weigh_bound(
      coarse ? coarse_factors(layer.shape, layer.operands) : bound_factors(layer.shape, place.keys),
      result, factors, logits);
  return std::move(result.weights);
}

}  // namespace headroom::reference
