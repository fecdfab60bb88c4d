#include "lesson/steps/rule_steps.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/layer/rotary_rules.hpp"
#include "lesson/texts/model_texts.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {
namespace {

using Stage = LayerTrace::Stage;

// `(B, T, width)` as `(B, H, T, head_dim)`.
Value grouped(const LayerTrace& trace, Value value, const Axis& heads) {
  return swapped(unrolled(std::move(value), 2, heads, trace.head_dim_axis()), 1);
}

Value query_at(const LayerTrace& trace, Stage stage, const char* name) {
  return on_path(named(grouped(trace, trace.query(stage), trace.heads_axis()), name));
}

Value key_at(const LayerTrace& trace, Stage stage, const char* name) {
  return named(grouped(trace, trace.key(stage), trace.key_heads_axis()), name);
}

Value norm_weights(const LayerTrace& trace, const char* name, const std::vector<float>& weights) {
  const auto size = static_cast<std::int64_t>(weights.size());
  const bool of_head = trace.shape().norm.over == QueryKeyNorm::Over::head;
  return make_value(name, {of_head ? trace.head_dim_axis() : Axis{"width", size}}, weights);
}

void add_norm(Lesson& lesson, const LayerTrace& trace, Stage stage) {
  const Case& shape = trace.shape();
  std::vector<Value> values;
  if (shape.norm.weighted) {
    values.push_back(norm_weights(trace, "g_query", trace.layer().weights.query_norm));
    values.push_back(norm_weights(trace, "g_key", trace.layer().weights.key_norm));
  }
  values.push_back(query_at(trace, stage, "query after its norm"));
  values.push_back(key_at(trace, stage, "key after its norm"));
  const bool of_head = shape.norm.over == QueryKeyNorm::Over::head;
  lesson.steps.push_back(
      make_step(of_head ? texts::kNormOfHeads : texts::kNormOfWidth, std::move(values)));
}

}  // namespace

Value angles(const LayerTrace& trace) {
  const Rotary& rotary = trace.shape().rotary;
  const std::int64_t width = turned_width(trace.shape());
  std::vector<double> data;
  for (std::int64_t t = 0; t < trace.shape().tokens; ++t) {
    for (std::int64_t i = 0; i < width / 2; ++i) {
      const double step =
          std::pow(rotary.base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      const double divisor =
          rotary.divisors.empty() ? 1 : rotary.divisors[static_cast<std::size_t>(i)];
      data.push_back(static_cast<double>(t) * rotary.scale * step / divisor);
    }
  }
  return make_value("angles", {trace.tokens_axis(), {"pair", width / 2}}, std::move(data));
}

void add_stretch(Lesson& lesson, const LayerTrace& trace) {
  const Rotary& rotary = trace.shape().rotary;
  if (rotary.divisors.empty()) return;
  const auto pairs = static_cast<std::int64_t>(rotary.divisors.size());
  lesson.steps.push_back(
      make_step(texts::kStretched, {make_value("divisors", {{"pair", pairs}}, rotary.divisors),
                                    make_value("amplitude", {}, std::vector{rotary.amplitude})}));
}

namespace {

void add_turn(Lesson& lesson, const LayerTrace& trace, Stage stage) {
  const Rotary& rotary = trace.shape().rotary;
  const bool halves = rotary.pairs == Rotary::Pairs::halves;
  lesson.steps.push_back(make_step(
      halves ? texts::kTurnHalves : texts::kTurnNeighbours,
      {angles(trace), query_at(trace, stage, "turned query"), key_at(trace, stage, "turned key")}));
  add_stretch(lesson, trace);
}

template <class Function>
Value changed(Value value, const char* name, const Function& function) {
  for (double& number : value.data) number = function(number);
  return named(std::move(value), name);
}

// -inf where `sees` says no, by row and column.
template <class Sees>
Value masked(Value value, const char* name, const Sees& sees) {
  const std::int64_t tokens = value.axes.back().size;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(value.data.size()); ++i) {
    if (!sees(i / tokens % tokens, i % tokens)) {
      value.data[static_cast<std::size_t>(i)] = -std::numeric_limits<double>::infinity();
    }
  }
  return named(std::move(value), name);
}

// What the weights of a row are short of 1.
Value shares_of_sinks(const LayerTrace& trace) {
  const Value weights = trace.attention_weights();
  const std::int64_t tokens = trace.shape().tokens;
  std::vector<double> shares;
  for (std::size_t i = 0; i < weights.data.size(); ++i) {
    if (i % static_cast<std::size_t>(tokens) == 0) shares.push_back(1);
    shares.back() -= weights.data[i];
  }
  return make_value("share of the sink",
                    {trace.batch_axis(), trace.heads_axis(), trace.tokens_axis()},
                    std::move(shares));
}

const Text& scale_text(const Case& shape) {
  if (shape.scale == 0) return texts::kScale;
  return shape.is_latent() ? texts::kStretchedScale : texts::kOwnScale;
}

void add_softmax(Lesson& lesson, const LayerTrace& trace) {
  const Value weights = on_path(trace.attention_weights());
  if (!trace.shape().sinks) {
    lesson.steps.push_back(make_step(texts::kSoftmax, {weights}));
    return;
  }
  lesson.steps.push_back(make_step(
      texts::kSinks, {make_value("sinks", {trace.heads_axis()}, trace.layer().weights.sinks),
                      weights, shares_of_sinks(trace)}));
}

}  // namespace

void add_preparation(Lesson& lesson, const LayerTrace& trace) {
  const Case& shape = trace.shape();
  const bool norms = shape.norm.over != QueryKeyNorm::Over::none;
  const bool turns = shape.rotary.pairs != Rotary::Pairs::none;
  const Stage first = norms && turns ? Stage::between : Stage::scored;
  const bool norm_is_last = shape.norm.after_rotary;
  if (norms && !norm_is_last) add_norm(lesson, trace, first);
  if (turns) add_turn(lesson, trace, norm_is_last ? first : Stage::scored);
  if (norms && norm_is_last) add_norm(lesson, trace, Stage::scored);
}

bool has_score_rules(const Case& shape) {
  return shape.scale > 0 || shape.softcap > 0 || shape.window > 0 || shape.sinks;
}

void add_ruled_weights(Lesson& lesson, const LayerTrace& trace) {
  const Case& shape = trace.shape();
  lesson.steps.push_back(make_step(texts::kHeadScores, {on_path(trace.scores())}));
  const double scale = shape.score_scale();
  Value scores =
      changed(trace.scores(), "scaled scores", [&](double score) { return score * scale; });
  lesson.steps.push_back(
      make_step(scale_text(shape), {make_value("scale", {}, std::vector{scale}), scores}));
  if (shape.softcap > 0) {
    scores = changed(std::move(scores), "capped scores", [&](double score) {
      return shape.softcap * std::tanh(score / shape.softcap);
    });
    lesson.steps.push_back(
        make_step(texts::kCap, {make_value("c", {}, std::vector{shape.softcap}), scores}));
  }
  if (shape.causal) {
    scores = masked(std::move(scores), "masked scores",
                    [](std::int64_t row, std::int64_t col) { return col <= row; });
    lesson.steps.push_back(make_step(texts::kMask, {scores}));
  }
  if (shape.window > 0) {
    scores = masked(
        std::move(scores), "scores within the window",
        [&](std::int64_t row, std::int64_t col) { return std::abs(row - col) < shape.window; });
    lesson.steps.push_back(make_step(texts::kWindow, {scores}));
  }
  add_softmax(lesson, trace);
}

}  // namespace headroom::lesson
