#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/element/cache_bytes.hpp"
#include "reference/element_bound.hpp"
#include "reference/layer.hpp"

namespace headroom::reference {
namespace {

// Numbers that share a scale.
struct Run {
  std::int64_t count, stride;
  double of_move;  // what a move adds to a size
};

// Errors of products in float are some times smaller than this: of 768 terms 4.5 units.
double may_be_off(const Case& shape, double size) {
  if (!shape.has_projections()) return 0;
  return kFloatEpsilon * size * (1 + std::sqrt(static_cast<double>(shape.key_input())) / 8);
}

// As floats, because backends round floats.
// @return the scale, about
double round_run(const Case& shape, const Run& run, Sized& numbers, std::int64_t at) {
  std::array<std::vector<float>, 3> rounded;  // a little smaller, as they are, and a little larger
  for (int way = 0; way < 3; ++way) {
    std::vector<float>& floats = rounded[static_cast<std::size_t>(way)];
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::size_t place = index(at + i * run.stride);
      const double value = numbers.values[place];
      const double off = (way - 1) * may_be_off(shape, numbers.sizes[place]);
      floats.push_back(static_cast<float>(value < 0 ? value - off : value + off));
    }
    round_by_bytes(floats.data(), run.count);
  }
  constexpr double kMostOfByte = 127;
  double largest = 0;
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::size_t place = index(at + i * run.stride);
    const auto of = [&](std::size_t way) { return static_cast<double>(rounded[way][index(i)]); };
    numbers.values[place] = of(1);
    const double move = std::max(std::abs(of(0) - of(1)), std::abs(of(2) - of(1)));
    numbers.sizes[place] += run.of_move * move;
    largest = std::max(largest, std::abs(numbers.values[place]));
  }
  return largest / kMostOfByte;
}

}  // namespace

DirectOrder::DirectOrder(const Layer& layer, std::int64_t first, std::int64_t count)
    : layer_(layer),
      first_(first),
      first_key_(layer.inputs.rounds_cache ? cache_block(first_seen_key(layer.shape))
                                           : first_seen_key(layer.shape)),
      reach_(layer.shape.context() - first_key_),
      key_(count * reach_ * layer.shape.kv_width()),
      value_(count * reach_ * layer.shape.value_width()),
      rounded_(0) {
  parallel_for(layer.threads, count * reach_, [&](std::int64_t t) {
    const std::int64_t sequence = first + t / reach_;
    const std::int64_t key = first_key_ + t % reach_;
    if (key < layer.keys(sequence)) project(sequence, key, t);
  });
  if (!layer.inputs.rounds_cache) return;
  rounded_ = key_;
  key_scales_.resize(index(count * (reach_ / kCacheBlock) * layer.shape.kv_width()));
  value_scales_.resize(index(count * reach_ * layer.shape.key_heads()));
  for (std::int64_t sequence = first; sequence < first + count; ++sequence) round(sequence);
}

// What is computed in float may be rounded to another step than what is computed in double, where
// it lies between two, and have another scale. The moves that this allows are added to the sizes.
void DirectOrder::round(std::int64_t sequence) {
  const Case& shape = layer_.shape;
  const std::int64_t start = (sequence - first_) * reach_;
  const std::int64_t keys = layer_.keys(sequence) - first_key_;
  const BoundFactors factors = bound_factors(shape, 0);
  const double of_key = 4 / (kFloatEpsilon * factors.logit);
  const double of_value = 1 / (kFloatEpsilon * factors.value);
  const std::int64_t width = shape.kv_width();
  parallel_for(layer_.threads, keys / kCacheBlock, [&](std::int64_t block) {
    const std::int64_t at = (start + block * kCacheBlock) * width;
    const std::int64_t scales = first_block(sequence) + block * width;
    for (std::int64_t c = 0; c < width; ++c) {
      key_scales_[index(scales + c)] =
          round_run(shape, {kCacheBlock, width, of_key}, rounded_, at + c);
    }
  });
  parallel_for(layer_.threads, keys, [&](std::int64_t key) {
    const std::int64_t at = (start + key) * shape.value_width();
    for (std::int64_t h = 0; h < shape.key_heads(); ++h) {
      value_scales_[index((start + key) * shape.key_heads() + h)] = round_run(
          shape, {shape.head_value_dim(), 1, of_value}, value_, at + h * shape.head_value_dim());
    }
  });
}

// Of each channel how far bytes of the query may be off, times the byte of a key: as a factor of
// what that key has there.
// @param scales where those of the head's block begin
Doubles DirectOrder::query_spread(const double* query, std::int64_t scales) const {
  const auto dim = index(layer_.shape.head_dim());
  const double* of_channel = key_scales_.data() + scales;
  Doubles scaled(dim);
  for (std::size_t c = 0; c < dim; ++c) scaled[c] = query[c] * of_channel[c];
  Doubles spread = group_sizes(scaled.data(), dim);
  for (std::size_t c = 0; c < dim; ++c) {
    spread[c] *= of_channel[c] > 0 ? query_share(layer_.shape) / of_channel[c] : 0;
  }
  return spread;
}

// The same of each weight, as a factor of its values, in units of eps.
// @param scales where that of the first key's value is
Doubles DirectOrder::weight_spread(const Place& place, const Doubles& weights,
                                   std::int64_t scales) const {
  Doubles spread(weights.size());
  const auto scale = [&](std::size_t j) {
    return value_scales_[index(scales + static_cast<std::int64_t>(j) * layer_.shape.key_heads())];
  };
  for (std::size_t first = 0; first < weights.size();) {
    const std::int64_t position = place.first_key + static_cast<std::int64_t>(first);
    const std::size_t end = std::min(weights.size(), first + index(kGroup - position % kGroup));
    double most = 0;
    for (std::size_t j = first; j < end; ++j) most = std::max(most, weights[j] * scale(j));
    for (std::size_t j = first; j < end; ++j) {
      spread[j] = scale(j) > 0 ? kWeightRounding / kFloatEpsilon * most / scale(j) : 0;
    }
    first = end;
  }
  return spread;
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
  const std::int64_t first = (place.sequence - first_) * reach_ + place.first_key - first_key_;
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
    const std::int64_t own = layer_.inputs.rounds_cache ? cache_block(place.position) : 0;
    std::int64_t block = -1;
    Doubles spread;
    for (std::int64_t j = 0; j < place.keys; ++j) {
      const std::int64_t at = start + j * width;
      const Sized& keys = place.first_key + j < own ? rounded_ : key_;
      const double* k = keys.values.data() + at;
      const double* k_size = keys.sizes.data() + at;
      SizedDot score = layer_.operands == Precision::f32
                           ? sized_dot(q, q_size, k, k_size, head_dim)
                           : independent_dot(q, q_size, k, k_size, head_dim);
      if (layer_.attends_bytes() && place.first_key + j < own) {
        const std::int64_t of_key = (place.first_key + j - first_key_) / kCacheBlock;
        if (of_key != block) {
          block = of_key;
          spread = query_spread(
              q, first_block(place.sequence) + block * width + layer_.key_column(head));
        }
        double squares = score.size * score.size;
        for (std::size_t c = 0; c < spread.size(); ++c) {
          squares += (spread[c] * k[c]) * (spread[c] * k[c]);
        }
        score.size = std::sqrt(squares);
      }
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
    if (layer_.attends_bytes()) {
      const Doubles off =
          weight_spread(place, scores, first * layer_.shape.key_heads() + layer_.key_head(head));
      add_product<kMagnitudes>(off.data(), value, merged.bound.data() + head * value_dim);
    }
  }
  apply_gate(layer_, row, merged);
  return merged;
}

}  // namespace headroom::reference
