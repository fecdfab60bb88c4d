#include "reference/layer.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "headroom/dropout.hpp"
#include "reference/element_bound.hpp"
#include "reference/steps/norm.hpp"

namespace headroom::reference {

Place Layer::place(std::int64_t row) const {
  const std::int64_t sequence = sequences.of(row);
  const std::int64_t in_call = row - sequences.first(sequence);
  // What came before a second input's tokens does not move the rows of x.
  if (shape.d_memory > 0) return {sequence, in_call, 0, keys(sequence), in_call};
  const std::int64_t position = shape.past + in_call;
  std::int64_t first_key = 0;
  std::int64_t end = shape.causal ? position + 1 : keys(sequence);
  if (shape.window > 0) {
    first_key = std::max<std::int64_t>(0, position - (shape.window - 1));
    if (end - position > shape.window) end = position + shape.window;
  }
  if (shape.chunk > 0) first_key = std::max(first_key, position - position % shape.chunk);
  return {sequence, position, first_key, end - first_key, in_call};
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

std::int64_t Layer::reach() const {
  if (inputs.context > 0) return inputs.context;
  if (!inputs.positions.empty()) {
    return *std::max_element(inputs.positions.begin(), inputs.positions.end()) + 1;
  }
  return shape.context();
}

Whereabouts Layer::whereabouts(std::int64_t sequence, std::int64_t j) const {
  if (inputs.positions.empty()) return {j, j, j};
  const std::int64_t tokens = shape.batch * shape.past + shape.rows();
  const std::int64_t token = sequence * shape.past + sequences.first(sequence) + j;
  const bool three = static_cast<std::int64_t>(inputs.positions.size()) > tokens;
  const auto at = [&](std::int64_t axis) {
    return inputs.positions[index(three ? axis * tokens + token : token)];
  };
  return {at(0), at(1), at(2)};
}

void Layer::prepare(const Whereabouts& token, std::int64_t heads, const std::vector<float>& norms,
                    double* values, double* sizes) const {
  if (!shape.norm.after_rotary) normalise(shape, heads, norms, values, sizes);
  rotation.turn(token, heads, values, sizes);
  if (shape.norm.after_rotary) normalise(shape, heads, norms, values, sizes);
}

void warm(const Case& shape, std::int64_t position, Sized& query) {
  if (shape.temperature.step == 0) return;
  const double steps = std::floor(static_cast<double>(position + 1) / shape.temperature.step);
  const double factor = 1 + shape.temperature.scale * std::log(1 + steps);
  for (double& value : query.values) value *= factor;
  for (double& size : query.sizes) size *= factor;
}

namespace {

// A row of x times the matrix of a latent, and its norm; what lies beside the latent stays.
Sized latent_of(const Layer& layer, const float* token, const Matrix& down,
                const std::vector<float>& norm) {
  Sized latent(down.cols);
  apply(layer, token, down, {}, latent.values.data(), latent.sizes.data());
  normalise_latent(layer.shape.latent.epsilon, norm, latent.values.data(), latent.sizes.data());
  return latent;
}

}  // namespace

void apply_latent(const Layer& layer, const float* token, Sized& k, Sized& v) {
  const Case& shape = layer.shape;
  const SplitWeights& w = layer.weights;
  const Sized latent = latent_of(layer, token, w.key_down, w.key_down_norm);
  Sized own(shape.own_key_width());
  apply(layer, latent, w.key, own.values.data(), own.sizes.data());
  apply(layer, latent, w.value, v.values.data(), v.sizes.data());
  const std::int64_t dim = shape.own_key_dim();
  for (std::int64_t c = 0; c < shape.kv_width(); ++c) {
    const std::int64_t head = c / shape.head_dim(), at = c % shape.head_dim();
    const bool is_own = at < dim;
    const std::size_t from = index(is_own ? head * dim + at : shape.latent.rank + at - dim);
    k.values[index(c)] = (is_own ? own : latent).values[from];
    k.sizes[index(c)] = (is_own ? own : latent).sizes[from];
  }
}

Sized project_query(const Layer& layer, std::int64_t row, std::int64_t position) {
  Sized query(layer.shape.d_out);
  if (!layer.shape.has_projections()) {
    take(layer.inputs.x, row, query.values.data(), query.sizes.data());
    return query;
  }
  const float* token = layer.inputs.x.row(row);
  const SplitWeights& w = layer.weights;
  if (layer.shape.latent.query_rank > 0) {
    apply(layer, latent_of(layer, token, w.query_down, w.query_down_norm), w.query,
          query.values.data(), query.sizes.data());
  } else {
    apply(layer, token, w.query, w.query_bias, query.values.data(), query.sizes.data());
  }
  clamp(layer.shape, layer.shape.d_out, query.values.data());
  const Whereabouts place = layer.whereabouts(layer.sequences.of(row), position);
  layer.prepare(place, layer.shape.heads, layer.weights.query_norm, query.values.data(),
                query.sizes.data());
  warm(layer.shape, position, query);
  return query;
}

namespace {

// T5's: half of the buckets, or of those of a side, hold one distance each; the others grow with
// its logarithm up to the farthest.
std::int64_t bucket_of(const Case& shape, std::int64_t distance) {
  const std::int64_t side =
      shape.causal ? shape.position_bias.buckets : shape.position_bias.buckets / 2;
  const std::int64_t offset = !shape.causal && distance > 0 ? side : 0;
  const double away = static_cast<double>(shape.causal && distance > 0 ? 0 : std::abs(distance));
  const double exact = std::floor(static_cast<double>(side) / 2);
  if (away < exact) return offset + static_cast<std::int64_t>(away);
  const double steps = (static_cast<double>(side) - exact) * std::log(away / exact) /
                       std::log(static_cast<double>(shape.position_bias.farthest) / exact);
  return offset +
         std::min(static_cast<std::int64_t>(exact) + static_cast<std::int64_t>(steps), side - 1);
}

}  // namespace

double Layer::position_bias(std::int64_t head, std::int64_t distance) const {
  const Matrix& values = weights.position_bias;
  switch (shape.position_bias.kind) {
    case PositionBias::Kind::none:
      return 0;
    case PositionBias::Kind::slopes:
      return static_cast<double>(values.values[index(head)]) * static_cast<double>(distance);
    case PositionBias::Kind::buckets:
      return static_cast<double>(values.view().row(bucket_of(shape, distance))[head]);
  }
  return 0;
}

void apply_rule(const Layer& layer, const Place& place, std::int64_t head, std::int64_t key,
                double& score, double& logit) {
  const Case& shape = layer.shape;
  if (shape.softcap > 0) {
    const double tanh = std::tanh(score / shape.softcap);
    score = shape.softcap * tanh;
    logit = logit * (1 - tanh * tanh) + std::abs(score);
  }
  const auto add = [&](double value) {
    score += value;
    if (std::isfinite(value)) logit += std::abs(value);
  };
  const std::int64_t at = place.first_key + key;
  if (shape.position_bias.kind != PositionBias::Kind::none) {
    add(layer.position_bias(head, at - place.position));
  }
  if (layer.inputs.mask) add(layer.inputs.mask(place.sequence, head, place.row, at));
}

void apply_gate(const Layer& layer, std::int64_t row, MergedRow& merged) {
  if (!layer.shape.gate) return;
  Sized gates(layer.shape.context_width());
  apply(layer, layer.inputs.x.row(row), layer.weights.gate, {}, gates.values.data(),
        gates.sizes.data());
  const bool coarse = layer.operands != Precision::f32;
  const double roundings = coarse ? 5 * operand_rounding(layer.operands) / kFloatEpsilon
                                  : 4 + std::sqrt(static_cast<double>(layer.shape.d_in));
  const double passed = 1 + bound_factors(layer.shape, 0).output;
  for (std::size_t c = 0; c < merged.context.size(); ++c) {
    const double sigmoid = 1 / (1 + std::exp(-gates.values[c]));
    const double moved = sigmoid * (1 - sigmoid) * roundings * gates.sizes[c] + 4 * sigmoid;
    merged.bound[c] = merged.bound[c] * sigmoid + passed * std::abs(merged.context[c]) * moved;
    merged.context[c] *= sigmoid;
  }
}

namespace {

// @param factors of dropout, empty for none
Doubles weigh_seen(const Layer& layer, const Place& place, std::int64_t head,
                   const std::vector<float>& factors, Doubles& scores, Doubles& logits) {
  const std::vector<float>& sinks = layer.weights.sinks;
  Softmax result =
      softmax(scores, layer.shape.sinks ? std::optional(static_cast<double>(sinks[index(head)]))
                                        : std::nullopt);
  scores = result.weights;
  for (std::size_t j = 0; j < factors.size(); ++j) scores[j] *= static_cast<double>(factors[j]);
  const bool coarse = layer.operands != Precision::f32;
  weigh_bound(
      coarse ? coarse_factors(layer.shape, layer.operands) : bound_factors(layer.shape, place.keys),
      result, factors, logits);
  return std::move(result.weights);
}

std::vector<float> dropout_factors(const Layer& layer, const Place& place, std::int64_t head) {
  if (layer.shape.dropout == 0) return {};
  const DropoutPattern pattern{layer.shape.dropout, layer.shape.dropout_seed};
  std::vector<float> factors(index(place.keys));
  pattern.factors(dropout_row(place.sequence * layer.shape.heads + head, place.position),
                  place.first_key, place.keys, factors.data());
  return factors;
}

// Those of the keys that a mask leaves.
template <class T>
std::vector<T> only(const std::vector<std::size_t>& seen, const std::vector<T>& all) {
  std::vector<T> those;
  if (all.empty()) return those;
  for (const std::size_t j : seen) those.push_back(all[j]);
  return those;
}

// Zero for all other keys.
Doubles spread(const std::vector<std::size_t>& seen, std::size_t keys, const Doubles& those) {
  Doubles all(keys);
  for (std::size_t i = 0; i < seen.size(); ++i) all[seen[i]] = those[i];
  return all;
}

}  // namespace

Doubles weigh(const Layer& layer, const Place& place, std::int64_t head, Doubles& scores,
              Doubles& logits) {
  const std::vector<float> factors = dropout_factors(layer, place, head);
  if (!layer.inputs.mask) return weigh_seen(layer, place, head, factors, scores, logits);
  std::vector<std::size_t> seen;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] != -std::numeric_limits<double>::infinity()) seen.push_back(j);
  }
  Doubles seen_scores = only(seen, scores), seen_logits = only(seen, logits);
  Doubles weights = weigh_seen(layer, place, head, only(seen, factors), seen_scores, seen_logits);
  scores = spread(seen, scores.size(), seen_scores);
  logits = spread(seen, logits.size(), seen_logits);
  return spread(seen, scores.size(), weights);
}

}  // namespace headroom::reference
