// Self-attention with trainable weights, and both ways of drawing them.
#include <fmt/format.h>

#include <utility>

#include "headroom/initialise.hpp"
#include "lesson/answer.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/texts/example_texts.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {
namespace {

constexpr std::uint32_t kUniformSeed = 123;
constexpr std::uint32_t kLinearSeed = 789;

Layer unmasked_layer(const Subject& subject, bool own) {
  Layer layer = layer_over(subject);
  layer.shape.causal = false;
  layer.shape.d_out = own ? layer.shape.d_in : kTextbookWidth;
  return layer;
}

Layer uniform_layer(Layer layer, std::uint32_t seed) {
  std::vector<Matrix> drawn = uniform_matrices(layer.shape.d_in, layer.shape.d_out, 3, seed);
  layer.weights.query = std::move(drawn[0]);
  layer.weights.key = std::move(drawn[1]);
  layer.weights.value = std::move(drawn[2]);
  return layer;
}

Layer linear_layer(Layer layer, std::uint32_t seed) {
  layer.weights = linear_weights(layer.shape, seed);
  return layer;
}

void add_one_query(Lesson& lesson, const LayerTrace& trace) {
  const std::int64_t query = trace.shape().tokens > 1 ? 1 : 0;
  const Value all = squeezed(trace.scores(), one_sentence());
  lesson.steps.push_back(
      make_step(texts::kOneQuery, {named(picked(all, 0, query), "scores of the query")}));
  lesson.steps.back().title +=
      fmt::format(": {}", trace.layer().words[static_cast<std::size_t>(query)]);
}

void add_way(Lesson& lesson, const LayerTrace& trace, const Text& weights) {
  lesson.steps.push_back(make_step(weights, trace.projections()));
  add_projections(lesson, trace, one_sentence());
  add_one_query(lesson, trace);
  add_attention(lesson, trace, one_sentence());
  add_answer(lesson, trace, {Formulation::split}, one_sentence());
}

}  // namespace

Lesson self_attention(const Choices& choices) {
  const Subject subject = first_sentence(choices.own.value_or(journey()));
  const std::uint32_t uniform_seed = choices.seed.value_or(kUniformSeed);
  const std::uint32_t linear_seed = choices.seed.value_or(kLinearSeed);
  const Layer layer = unmasked_layer(subject, choices.own.has_value());
  Lesson lesson;
  lesson.title = "Self-attention with trainable weights";
  lesson.about = fmt::format("{}; torch.rand with seed {}, then nn.Linear with seed {}",
                             subject.source, uniform_seed, linear_seed);
  lesson.words = subject.words;
  const LayerTrace uniform(uniform_layer(layer, uniform_seed));
  add_input(lesson, uniform, one_sentence());
  add_way(lesson, uniform, texts::kUniformWeights);
  add_way(lesson, LayerTrace(linear_layer(layer, linear_seed)), texts::kLinearWeights);
  return lesson;
}

}  // namespace headroom::lesson
