// Weight splits, with drawn weights.
#include <fmt/format.h>

#include <utility>

#include "headroom/initialise.hpp"
#include "lesson/answer.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/examples/split_steps.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/texts/example_texts.hpp"
#include "lesson/texts/texts.hpp"
#include "lesson/torch_draws.hpp"

namespace headroom::lesson {
namespace {

constexpr std::uint32_t kSeed = 123;
constexpr std::uint32_t kNormalSeed = 0;
constexpr std::int64_t kHeads = 2;
constexpr double kStreamDropout = 0.1;

// What the notebook prints: the same layer without its mask.
void add_mask_dropped(Lesson& lesson, const LayerTrace& trace) {
  Layer wrong = trace.layer();
  wrong.shape.causal = false;
  const LayerTrace printed(std::move(wrong));
  Step step = make_step(
      texts::kMaskDropped,
      {named(printed.attention_weights(), "attention weights of the notebook"),
       named(trace.attention_weights(), "right attention weights"),
       named(printed.y(), "what the notebook prints"), named(trace.y(), "what is right"),
       make_value("largest difference", {},
                  std::vector<double>{largest_difference(printed.y().data, trace.y().data)}),
       named(printed.context(), "context of the notebook")});
  step.correction = true;
  lesson.steps.push_back(std::move(step));
}

}  // namespace

Lesson split(const Choices& choices) {
  if (choices.layer) return trained_split(choices);
  const Subject subject = choices.own.value_or(repeated(journey(), 2));
  const std::uint32_t seed = choices.seed.value_or(kSeed);
  Layer layer = layer_over(subject);
  Case& shape = layer.shape;
  shape.d_out = shape.d_proj = choices.own ? shape.d_in : kTextbookWidth;
  shape.heads = choices.heads.value_or(shape.d_out % kHeads != 0 ? 1 : kHeads);
  layer.weights = linear_weights(shape, seed);
  Lesson lesson =
      started_split(subject, "Weight splits: one wide product for all heads",
                    fmt::format("heads: {}, nn.Linear with seed {}", shape.heads, seed));
  const LayerTrace trace(std::move(layer));
  add_split_beginning(lesson, trace, texts::kWeights);
  add_split_end(lesson, trace);
  return lesson;
}

Lesson kid_smiles_lesson(const Choices& choices) {
  const Subject subject = kid_smiles();
  const std::uint32_t seed = choices.seed.value_or(kNormalSeed);
  Layer layer = layer_over(subject);
  layer.shape.heads = choices.heads.value_or(kHeads);
  layer.shape.d_out = layer.shape.d_in;
  TorchDraws draws(seed);
  for (Matrix* matrix : {&layer.weights.query, &layer.weights.key, &layer.weights.value}) {
    *matrix = draws.normal(layer.shape.d_in, layer.shape.d_out);
  }
  Lesson lesson =
      started_split(subject, "Step by step with Gaussian weights",
                    fmt::format("heads: {}, torch.randn with seed {}", layer.shape.heads, seed));
  const LayerTrace trace(std::move(layer));
  add_split_beginning(lesson, trace, texts::kNormalWeights);
  const Value weights = trace.attention_weights();
  Value factors = make_value(
      "factors", weights.axes,
      draws.dropout_factors(static_cast<std::int64_t>(weights.data.size()), kStreamDropout));
  Value dropped = named(weights, "attention weights after dropout");
  dropped.kind = Value::Kind::plain;
  for (std::size_t i = 0; i < factors.data.size(); ++i) dropped.data[i] *= factors.data[i];
  lesson.steps.push_back(
      make_step(texts::kStreamDropout, {std::move(factors), std::move(dropped)}));
  add_split_end(lesson, trace);
  return lesson;
}

Lesson six_bias(const Choices& choices) {
  const Subject subject = three_rows();
  const std::uint32_t seed = choices.seed.value_or(kSeed);
  Layer layer = layer_over(subject);
  layer.shape.heads = choices.heads.value_or(kHeads);
  layer.shape.d_out = layer.shape.d_proj = layer.shape.d_in;
  layer.shape.qkv_bias = true;
  layer.weights = linear_weights(layer.shape, seed);
  Lesson lesson =
      started_split(subject, "Split with biases, and a notebook that drops its mask",
                    fmt::format("heads: {}, nn.Linear with seed {}", layer.shape.heads, seed));
  const LayerTrace trace(std::move(layer));
  add_split_beginning(lesson, trace, texts::kWeights);
  add_merge(lesson, trace);
  add_mask_dropped(lesson, trace);
  add_side_by_side(lesson, trace.shape());
  add_answer(lesson, trace, {Formulation::split, Formulation::wrapper}, {});
  return lesson;
}

}  // namespace headroom::lesson
