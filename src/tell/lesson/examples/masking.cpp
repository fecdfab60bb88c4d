// Causal masking in both ways, dropout, and a batch: what turns self-attention into the layer of a
// language model.
#include <fmt/format.h>

#include <utility>

#include "headroom/initialise.hpp"
#include "lesson/answer.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/texts/example_texts.hpp"
#include "lesson/texts/texts.hpp"
#include "lesson/torch_draws.hpp"

namespace headroom::lesson {
namespace {

constexpr std::uint32_t kWeightSeed = 789;
constexpr std::uint32_t kDropoutSeed = 123;
constexpr std::uint32_t kBatchSeed = 123;
constexpr double kDropout = 0.5;

Layer linear_layer(const Subject& subject, const Choices& choices, std::uint32_t seed) {
  Layer layer = layer_over(subject);
  layer.shape.d_out = choices.own ? layer.shape.d_in : kTextbookWidth;
  layer.weights = linear_weights(layer.shape, seed);
  return layer;
}

Layer without_mask(Layer layer) {
  layer.shape.causal = false;
  return layer;
}

Value ones_up_to_diagonal(const Value& weights) {
  Value mask = named(weights, "mask");
  mask.kind = Value::Kind::plain;
  const std::int64_t tokens = mask.axes[0].size;
  for (std::int64_t i = 0; i < tokens * tokens; ++i) {
    mask.data[static_cast<std::size_t>(i)] = i % tokens <= i / tokens ? 1 : 0;
  }
  return mask;
}

Value times(Value value, const std::vector<double>& factors, std::string name) {
  for (std::size_t i = 0; i < factors.size(); ++i) value.data[i] *= factors[i];
  return named(std::move(value), std::move(name));
}

Value row_sums(const Value& value, std::string name) {
  const auto cols = static_cast<std::size_t>(value.axes[1].size);
  std::vector<double> sums(static_cast<std::size_t>(value.axes[0].size));
  for (std::size_t i = 0; i < value.data.size(); ++i) sums[i / cols] += value.data[i];
  return make_value(std::move(name), {value.axes[0]}, std::move(sums));
}

Value over_row_sums(Value value, std::string name) {
  const std::vector<double> sums = row_sums(value, "").data;
  const auto cols = static_cast<std::size_t>(value.axes[1].size);
  for (std::size_t i = 0; i < value.data.size(); ++i) value.data[i] /= sums[i / cols];
  return named(std::move(value), std::move(name));
}

// @return the renormalised weights
Value add_mask_after(Lesson& lesson, const Value& weights) {
  Value mask = ones_up_to_diagonal(weights);
  Value masked = times(weights, mask.data, "masked weights");
  Value sums = row_sums(masked, "row sums");
  Value renormalised = over_row_sums(masked, "renormalised weights");
  lesson.steps.push_back(make_step(
      texts::kMaskAfter, {std::move(mask), std::move(masked), std::move(sums), renormalised}));
  return renormalised;
}

Lesson started(const Subject& subject, std::string title, const std::string& about) {
  Lesson lesson;
  lesson.title = std::move(title);
  lesson.about = subject.source + "; " + about;
  lesson.words = subject.words;
  return lesson;
}

}  // namespace

Lesson causal(const Choices& choices) {
  const Subject subject = first_sentence(choices.own.value_or(journey()));
  const std::uint32_t seed = choices.seed.value_or(kWeightSeed);
  const Names& names = one_sentence();
  Lesson lesson =
      started(subject, "Causal masking, in both ways", fmt::format("nn.Linear with seed {}", seed));
  const LayerTrace trace(linear_layer(subject, choices, seed));
  const LayerTrace unmasked(without_mask(trace.layer()));
  const Value weights = squeezed(unmasked.attention_weights(), names);
  add_input(lesson, trace, names);
  lesson.steps.push_back(make_step(texts::kWeights, trace.projections()));
  lesson.steps.push_back(
      make_step(texts::kUnmasked, {on_path(squeezed(unmasked.scores(), names)), weights}));
  const Value renormalised = add_mask_after(lesson, weights);
  const Value masked = squeezed(trace.attention_weights(), names);
  lesson.steps.push_back(
      make_step(texts::kMaskBefore, {squeezed(trace.masked_scores(), names), on_path(masked)}));
  lesson.steps.push_back(make_step(
      texts::kSameRows,
      {make_value("largest difference between both", {},
                  std::vector<double>{largest_difference(renormalised.data, masked.data)})}));
  lesson.steps.push_back(make_step(texts::kContext, {squeezed(trace.value(), names),
                                                     on_path(squeezed(trace.context(), names))}));
  add_answer(lesson, trace, {Formulation::split}, names);
  return lesson;
}

Lesson dropout(const Choices& choices) {
  const Subject subject = first_sentence(choices.own.value_or(journey()));
  const std::uint32_t seed = choices.seed.value_or(kDropoutSeed);
  const Names& names = one_sentence();
  Lesson lesson =
      started(subject, "Dropout and its scaling",
              fmt::format("nn.Linear with seed {}, dropout with seed {}", kWeightSeed, seed));
  Layer layer = linear_layer(subject, choices, kWeightSeed);
  const Value weights = squeezed(LayerTrace(layer).attention_weights(), names);
  Value factors = make_value(
      "factors", weights.axes,
      TorchDraws(seed).dropout_factors(static_cast<std::int64_t>(weights.data.size()), kDropout));
  Value dropped = times(weights, factors.data, "attention weights after dropout");
  Value sums = row_sums(dropped, "row sums, 1 on average");
  layer.shape.dropout = kDropout;
  layer.shape.dropout_seed = seed;
  const LayerTrace trace(std::move(layer));
  add_input(lesson, trace, names);
  lesson.steps.push_back(make_step(texts::kToDrop, {on_path(weights)}));
  lesson.steps.push_back(
      make_step(texts::kDropout, {std::move(factors), std::move(dropped), std::move(sums)}));
  lesson.steps.push_back(
      make_step(texts::kOwnDropout, {on_path(squeezed(trace.dropped_weights(), names))}));
  lesson.steps.push_back(make_step(texts::kContext, {on_path(squeezed(trace.context(), names))}));
  add_answer(lesson, trace, {Formulation::split}, names);
  return lesson;
}

Lesson batch(const Choices& choices) {
  const Subject subject = choices.own.value_or(repeated(journey(), 2));
  const std::uint32_t seed = choices.seed.value_or(kBatchSeed);
  Lesson lesson =
      started(subject, "A batch of sentences",
              fmt::format("{} in the batch; nn.Linear with seed {}", subject.batch, seed));
  const LayerTrace trace(linear_layer(subject, choices, seed));
  lesson.steps.push_back(make_step(texts::kBatch, {squeezed_input(trace, one_head())}));
  lesson.steps.push_back(make_step(texts::kWeights, trace.projections()));
  add_projections(lesson, trace, one_head());
  add_attention(lesson, trace, one_head());
  add_answer(lesson, trace, {Formulation::split}, one_head());
  return lesson;
}

}  // namespace headroom::lesson
