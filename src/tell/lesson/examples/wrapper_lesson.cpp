// The wrapper: heads one after the other, and a notebook that multiplies queries with values.
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

constexpr std::uint32_t kSeed = 123;
constexpr std::int64_t kHeads = 2;

struct WrapperLayer {
  Layer all;
  PerHeadWeights heads;
};

WrapperLayer wrapper_layer(const Subject& subject, const Choices& choices) {
  WrapperLayer made{layer_over(subject), {}};
  Case& shape = made.all.shape;
  shape.heads = choices.heads.value_or(choices.own && shape.d_in % kHeads != 0 ? 1 : kHeads);
  shape.d_out = choices.own ? shape.d_in : shape.heads * kTextbookWidth;
  made.heads = linear_weights_per_head(shape, choices.seed.value_or(kSeed));
  made.all.weights = to_split(shape, made.heads);
  return made;
}

LayerTrace head_trace(const WrapperLayer& layer, std::size_t head) {
  Layer one = layer.all;
  const HeadWeights& weights = layer.heads.heads[head];
  one.shape.heads = 1;
  one.shape.d_out = weights.query.cols;
  one.weights = {};
  one.weights.query = weights.query;
  one.weights.key = weights.key;
  one.weights.value = weights.value;
  return LayerTrace(std::move(one));
}

void add_heads(Lesson& lesson, const WrapperLayer& layer) {
  Step weights = make_step(texts::kHeadWeights, {});
  Step alone = make_step(texts::kHeadAlone, {});
  for (std::size_t h = 0; h < layer.heads.heads.size(); ++h) {
    const LayerTrace head = head_trace(layer, h);
    const auto of_head = [&](Value value) {
      value.name = fmt::format("head {}: {}", h + 1, value.name);
      value.kind = Value::Kind::plain;  // the page draws all heads together
      return value;
    };
    for (Value& value : head.projections()) weights.values.push_back(of_head(std::move(value)));
    alone.values.push_back(of_head(squeezed(head.attention_weights(), one_head())));
    alone.values.push_back(of_head(squeezed(head.context(), one_head())));
  }
  lesson.steps.push_back(std::move(weights));
  lesson.steps.push_back(std::move(alone));
}

Lesson wrapper_steps(const Subject& subject, const Choices& choices, const WrapperLayer& layer) {
  const LayerTrace trace(layer.all);
  Lesson lesson;
  lesson.about =
      fmt::format("{}; {} in the batch, heads: {}, nn.Linear with seed {}", subject.source,
                  subject.batch, layer.all.shape.heads, choices.seed.value_or(kSeed));
  lesson.words = subject.words;
  add_input(lesson, trace, {});
  add_heads(lesson, layer);
  lesson.steps.push_back(
      make_step(texts::kConcatenate, {on_path(trace.attention_weights()),
                                      on_path(trace.context_heads()), on_path(trace.context())}));
  return lesson;
}

void add_end(Lesson& lesson, const WrapperLayer& layer) {
  const LayerTrace trace(layer.all);
  lesson.steps.push_back(make_step(texts::kWrapperAsSplit, trace.projections()));
  add_side_by_side(lesson, layer.all.shape);
  add_answer(lesson, trace, {Formulation::wrapper, Formulation::split}, {});
}

// What the notebook prints: the same layer with its values as keys.
void add_values_for_keys(Lesson& lesson, const Layer& layer) {
  Layer wrong = layer;
  wrong.weights.key = wrong.weights.value;
  const LayerTrace printed(std::move(wrong));
  const LayerTrace right(layer);
  Step step = make_step(texts::kValuesForKeys,
                        {named(printed.attention_weights(), "attention weights of the notebook"),
                         named(right.attention_weights(), "right attention weights"),
                         named(printed.context(), "what the notebook prints"),
                         named(right.context(), "what is right"),
                         make_value("largest difference", {},
                                    std::vector<double>{largest_difference(
                                        printed.context().data, right.context().data)})});
  step.correction = true;
  lesson.steps.push_back(std::move(step));
}

}  // namespace

Lesson wrapper(const Choices& choices) {
  const Subject subject = choices.own.value_or(repeated(journey(), 2));
  const WrapperLayer layer = wrapper_layer(subject, choices);
  Lesson lesson = wrapper_steps(subject, choices, layer);
  lesson.title = "Several heads as a wrapper";
  add_end(lesson, layer);
  return lesson;
}

Lesson dream_lesson(const Choices& choices) {
  const WrapperLayer layer = wrapper_layer(dream(), choices);
  Lesson lesson = wrapper_steps(dream(), choices, layer);
  lesson.title = "The wrapper again, and a notebook that multiplies queries with values";
  add_values_for_keys(lesson, layer.all);
  add_end(lesson, layer);
  return lesson;
}

}  // namespace headroom::lesson
