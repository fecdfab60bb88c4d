// Attention without weights: the tokens are their own queries, keys and values.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "lesson/answer.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/texts/example_texts.hpp"
#include "reference/plain_loops.hpp"
#include "reference/steps/softmax.hpp"

namespace headroom::lesson {
namespace {

// Large enough that exp of the textbook's scores overflows a float.
constexpr double kTooLarge = 100;

Matrix scaled_unit(std::int64_t size, float scale) {
  Matrix matrix(size, size);
  for (std::int64_t i = 0; i < size; ++i) matrix.view().row(i)[i] = scale;
  return matrix;
}

// A layer divides by sqrt(d_in); the query's matrix undoes that.
Layer plain_layer(const Subject& subject, float query_scale) {
  Layer layer = layer_over(subject);
  layer.shape.causal = false;
  layer.shape.d_out = layer.shape.d_in;
  layer.weights.query = scaled_unit(layer.shape.d_in, query_scale);
  layer.weights.key = layer.weights.value = scaled_unit(layer.shape.d_in, 1);
  return layer;
}

std::vector<double> divided_by_sum(std::vector<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value /= sum;
  return values;
}

// In float, as a program would have it.
std::vector<double> naive_softmax(const std::vector<double>& scores) {
  std::vector<double> exponentials;
  exponentials.reserve(scores.size());
  for (const double score : scores) {
    exponentials.push_back(static_cast<double>(std::exp(static_cast<float>(score))));
  }
  return divided_by_sum(exponentials);
}

// One query among the tokens, and all that follows from its scores.
struct OneQuery {
  Value query, products, scores;
};

OneQuery one_query(const Value& x, std::int64_t index) {
  const Axis& tokens = x.axes[0];
  Value query = named(picked(x, 0, index), "query");
  query.kind = Value::Kind::plain;
  Value products = named(x, "products");
  products.kind = Value::Kind::plain;
  products.on_path = query.on_path = false;
  std::vector<double> scores;
  const std::int64_t width = x.axes[1].size;
  for (std::int64_t t = 0; t < tokens.size; ++t) {
    double* row = products.data.data() + t * width;
    scores.push_back(reference::dot<reference::Terms::signed_values>(
        query.data.data(), x.data.data() + t * width, width));
    for (std::int64_t c = 0; c < width; ++c) row[c] *= query.data[static_cast<std::size_t>(c)];
  }
  Value value = make_value("scores of the query", {tokens}, std::move(scores));
  return {std::move(query), std::move(products), std::move(value)};
}

void add_normalisations(Lesson& lesson, const Value& scores) {
  const auto with = [&](const char* name, std::vector<double> data) {
    return make_value(name, scores.axes, std::move(data));
  };
  std::vector<double> large = scores.data;
  for (double& score : large) score *= kTooLarge;
  lesson.steps.push_back(make_step(texts::kSumNormalised,
                                   {with("scores over their sum", divided_by_sum(scores.data))}));
  lesson.steps.push_back(
      make_step(texts::kNaiveSoftmax,
                {with("naive softmax", naive_softmax(scores.data)), with("scores times 100", large),
                 with("naive softmax of scores times 100", naive_softmax(large)),
                 with("stable softmax of scores times 100", reference::softmax(large).weights)}));
}

Value weights_of(const Value& scores) {
  const auto tokens = static_cast<std::size_t>(scores.axes[0].size);
  std::vector<double> all;
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto row = scores.data.begin() + static_cast<std::ptrdiff_t>(t * tokens);
    const std::vector<double> weights =
        reference::softmax({row, row + static_cast<std::ptrdiff_t>(tokens)}).weights;
    all.insert(all.end(), weights.begin(), weights.end());
  }
  Value value = make_value("attention weights", scores.axes, std::move(all));
  value.kind = Value::Kind::attention;
  return on_path(std::move(value));
}

void add_contexts(Lesson& lesson, const Value& x, const Value& weights, std::int64_t query) {
  const std::int64_t tokens = x.axes[0].size;
  const std::int64_t width = x.axes[1].size;
  const reference::Block<double> rows{x.data.data(), tokens, width, width};
  Value all = named(on_path(x), "context");
  all.kind = Value::Kind::plain;
  all.data.assign(all.data.size(), 0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    reference::add_product<reference::Terms::signed_values>(weights.data.data() + t * tokens, rows,
                                                            all.data.data() + t * width);
  }
  Value parts = named(x, "weighted tokens");
  parts.kind = Value::Kind::plain;
  parts.on_path = false;
  for (std::int64_t i = 0; i < tokens * width; ++i) {
    parts.data[static_cast<std::size_t>(i)] *=
        weights.data[static_cast<std::size_t>(query * tokens + i / width)];
  }
  Value one = named(picked(all, 0, query), "context of the query");
  one.on_path = false;
  lesson.steps.push_back(make_step(texts::kOneContext, {std::move(parts), std::move(one)}));
  lesson.steps.push_back(make_step(texts::kAllContexts, {std::move(all)}));
}

}  // namespace

Lesson simplified(const Choices& choices) {
  const Subject subject = first_sentence(choices.own.value_or(journey()));
  Lesson lesson;
  lesson.title = "Attention without weights";
  lesson.about = subject.source + "; nothing is drawn";
  lesson.words = subject.words;
  const LayerTrace trace(plain_layer(subject, 1));
  const std::int64_t query = subject.tokens() > 1 ? 1 : 0;
  const std::string word = subject.words[static_cast<std::size_t>(query)];
  const Value x = squeezed_input(trace, one_sentence());
  add_input(lesson, trace, one_sentence());
  OneQuery one = one_query(x, query);
  lesson.steps.push_back(make_step(texts::kOneByOne, {one.query, one.products, one.scores}));
  lesson.steps.back().title += fmt::format(": {}", word);
  const Value scores = on_path(squeezed(trace.scores(), one_sentence()));
  lesson.steps.push_back(make_step(texts::kAllScores, {scores}));
  add_normalisations(lesson, one.scores);
  const Value weights = weights_of(scores);
  lesson.steps.push_back(make_step(texts::kStableSoftmax, {weights}));
  add_contexts(lesson, x, weights, query);
  const LayerTrace unscaled(plain_layer(subject, std::sqrt(static_cast<float>(subject.width()))));
  add_answer(lesson, unscaled, {Formulation::split}, one_sentence());
  return lesson;
}

}  // namespace headroom::lesson
