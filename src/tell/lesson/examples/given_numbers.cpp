// Lessons whose weights, or queries, keys and values, a notebook writes down.
#include <algorithm>
#include <array>
#include <utility>

#include "lesson/answer.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/texts/example_texts.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kHeadDim = 3;
constexpr std::int64_t kWidth = kNotebookWidth;
static_assert(kWidth == kHeads * kHeadDim);
constexpr double kDropout = 0.5;

// (H, T, head_dim), as the notebook groups them.
using Grouped = std::array<float, kHeads * kTokens * kHeadDim>;
constexpr Grouped kQuery{0.0299F, 0.7057F, 0.1425F, 0.5029F, 0.6294F, 0.3265F,
                         0.8386F, 0.7803F, 0.8877F, 0.0808F, 0.7281F, 0.7343F,
                         0.5948F, 0.8757F, 0.6526F, 0.8280F, 0.1269F, 0.9827F};
constexpr Grouped kKey{0.2260F, 0.7611F, 0.6772F, 0.7446F, 0.4209F, 0.6467F,
                       0.4521F, 0.1769F, 0.1615F, 0.6787F, 0.7103F, 0.8188F,
                       0.5338F, 0.8099F, 0.9866F, 0.0227F, 0.4601F, 0.4753F};
constexpr Grouped kValue{0.8375F, 0.7430F, 0.8563F, 0.1214F, 0.1560F, 0.0729F,
                         0.1887F, 0.9912F, 0.1640F, 0.7458F, 0.6515F, 0.1220F,
                         0.6801F, 0.4366F, 0.6720F, 0.8135F, 0.6831F, 0.7280F};
// Which attention weights the notebook's dropout keeps, (H, T, T); masked ones are 0 either way.
constexpr std::array<double, kHeads * kTokens * kTokens> kKept{0, 0, 0, 1, 0, 0, 1, 0, 1,
                                                               0, 0, 0, 0, 1, 0, 1, 1, 0};

using Square = std::array<float, kWidth * kWidth>;
constexpr Square kQueryWeights{
    0.4993F, 0.2528F, 0.9087F, 0.4387F, 0.0761F, 0.6710F, 0.4096F, 0.0766F, 0.3847F,
    0.5818F, 0.5646F, 0.5658F, 0.2798F, 0.7151F, 0.1058F, 0.6133F, 0.2456F, 0.3947F,
    0.5394F, 0.9090F, 0.6069F, 0.5502F, 0.2611F, 0.0625F, 0.9705F, 0.0770F, 0.5557F,
    0.5505F, 0.4124F, 0.5342F, 0.1674F, 0.8521F, 0.7174F, 0.2237F, 0.0440F, 0.4619F};
constexpr Square kKeyWeights{0.2858F, 0.4111F, 0.6800F, 0.7871F, 0.7942F, 0.9427F, 0.2936F, 0.8079F,
                             0.2960F, 0.4484F, 0.4080F, 0.0224F, 0.6710F, 0.9872F, 0.1064F, 0.0914F,
                             0.7141F, 0.2901F, 0.4991F, 0.7919F, 0.2702F, 0.5881F, 0.2960F, 0.7207F,
                             0.2867F, 0.9855F, 0.7803F, 0.1783F, 0.6278F, 0.9921F, 0.7149F, 0.9552F,
                             0.8109F, 0.9274F, 0.8857F, 0.5978F};
constexpr Square kValueWeights{
    0.0403F, 0.9850F, 0.9636F, 0.2161F, 0.2303F, 0.7819F, 0.6405F, 0.3427F, 0.0892F,
    0.8515F, 0.8595F, 0.4642F, 0.8738F, 0.0162F, 0.1105F, 0.0801F, 0.5262F, 0.2379F,
    0.0604F, 0.5162F, 0.9510F, 0.8857F, 0.4536F, 0.1404F, 0.3554F, 0.6543F, 0.0071F,
    0.3822F, 0.7250F, 0.8788F, 0.4789F, 0.0458F, 0.6999F, 0.9771F, 0.9141F, 0.1221F};

Matrix square(const Square& numbers) {
  Matrix matrix(kWidth, kWidth);
  std::copy(numbers.begin(), numbers.end(), matrix.values.begin());
  return matrix;
}

// Takes d_out columns of x as they are.
Matrix selection(std::int64_t first) {
  Matrix matrix(3 * kWidth, kWidth);
  for (std::int64_t c = 0; c < kWidth; ++c) matrix.view().row(first + c)[c] = 1;
  return matrix;
}

// Query, key and value stand side by side in x, and each matrix selects one of them.
Layer layer_of_given_heads() {
  Subject subject = cat_sleeps();
  subject.x = Matrix(kTokens, 3 * kWidth);
  std::int64_t first = 0;
  for (const Grouped* given : {&kQuery, &kKey, &kValue}) {
    for (std::int64_t i = 0; i < kHeads * kTokens; ++i) {
      std::copy_n(given->begin() + i * kHeadDim, kHeadDim,
                  subject.x.view().row(i % kTokens) + first + i / kTokens * kHeadDim);
    }
    first += kWidth;
  }
  Layer layer = layer_over(subject);
  layer.shape.d_out = kWidth;
  layer.shape.heads = kHeads;
  layer.weights.query = selection(0);
  layer.weights.key = selection(kWidth);
  layer.weights.value = selection(2 * kWidth);
  return layer;
}

Value grouped(const LayerTrace& trace, Value value) {
  return swapped(unrolled(std::move(value), 2, trace.heads_axis(), trace.head_dim_axis()), 1);
}

void add_given_dropout(Lesson& lesson, const LayerTrace& trace) {
  Value dropped = named(trace.attention_weights(), "attention weights after dropout");
  dropped.kind = Value::Kind::plain;
  for (std::size_t i = 0; i < kKept.size(); ++i) dropped.data[i] *= kKept[i] / (1 - kDropout);
  lesson.steps.push_back(make_step(texts::kGivenDropout, {std::move(dropped)}));
}

// What the notebook prints: the heads' numbers, read as rows without moving one.
void add_mixed_rows(Lesson& lesson, const LayerTrace& trace) {
  Value printed = named(trace.context(), "what the notebook prints");
  printed.data = trace.context_heads().data;
  Value difference =
      make_value("largest difference", {},
                 std::vector<double>{largest_difference(printed.data, trace.context().data)});
  Step step = make_step(
      texts::kMixedRows,
      {std::move(printed), named(trace.context(), "what is right"), std::move(difference)});
  step.correction = true;
  lesson.steps.push_back(std::move(step));
}

}  // namespace

Lesson heads_by_hand(const Choices&) {
  Lesson lesson;
  lesson.title = "Two heads by hand, and a notebook whose merged rows mix tokens";
  lesson.about = "query, key and value as a notebook gives them, for three tokens and two heads";
  lesson.words = cat_sleeps().words;
  const LayerTrace trace(layer_of_given_heads());
  lesson.steps.push_back(
      make_step(texts::kGivenHeads, {on_path(grouped(trace, trace.query())),
                                     grouped(trace, trace.key()), grouped(trace, trace.value())}));
  add_head_weights(lesson, trace);
  add_given_dropout(lesson, trace);
  add_merge(lesson, trace);
  add_mixed_rows(lesson, trace);
  add_answer(lesson, trace, {Formulation::split, Formulation::wrapper}, {});
  return lesson;
}

Lesson cat_sleeps_lesson(const Choices& choices) {
  const Subject subject = cat_sleeps();
  Layer layer = layer_over(subject);
  layer.shape.d_out = kWidth;
  layer.shape.heads = choices.heads.value_or(kHeads);
  layer.weights.query = square(kQueryWeights);
  layer.weights.key = square(kKeyWeights);
  layer.weights.value = square(kValueWeights);
  Lesson lesson;
  lesson.title = "The same heads from the input on, carried through";
  lesson.about = subject.source + "; input and weights as a notebook gives them";
  lesson.words = subject.words;
  const LayerTrace trace(std::move(layer));
  add_input(lesson, trace, {});
  lesson.steps.push_back(make_step(texts::kGivenWeights, trace.projections()));
  add_split_projections(lesson, trace);
  add_head_weights(lesson, trace);
  add_merge(lesson, trace);
  add_side_by_side(lesson, trace.shape());
  add_answer(lesson, trace, {Formulation::split, Formulation::wrapper}, {});
  return lesson;
}

}  // namespace headroom::lesson
