#include "lesson/steps/layer_steps.hpp"

#include <fmt/format.h>

#include <utility>

#include "lesson/steps/rule_steps.hpp"
#include "lesson/texts/model_texts.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {
namespace {

constexpr LayerTrace::Stage kProjected = LayerTrace::Stage::projected;

Value unrolled_heads(const LayerTrace& trace, Value value) {
  return unrolled(std::move(value), 2, trace.heads_axis(), trace.head_dim_axis());
}

Value unrolled_key_heads(const LayerTrace& trace, Value value) {
  return unrolled(std::move(value), 2, trace.key_heads_axis(), trace.head_dim_axis());
}

std::string product_text(const Case& shape, std::int64_t cols) {
  return fmt::format("({}, {}) ({}, {})", shape.rows(), shape.d_in, shape.d_in, cols);
}

}  // namespace

const Names& one_sentence() {
  static const Names names{"B", "H"};
  return names;
}

const Names& one_head() {
  static const Names names{"H"};
  return names;
}

Value squeezed_input(const LayerTrace& trace, const Names& squeeze) {
  return squeezed(trace.x(), squeeze);
}

void add_input(Lesson& lesson, const LayerTrace& trace, const Names& squeeze) {
  lesson.steps.push_back(make_step(texts::kInput, {squeezed_input(trace, squeeze)}));
}

void add_projections(Lesson& lesson, const LayerTrace& trace, const Names& squeeze) {
  lesson.steps.push_back(
      make_step(texts::kProject,
                {on_path(squeezed(trace.query(kProjected), squeeze)),
                 squeezed(trace.key(kProjected), squeeze), squeezed(trace.value(), squeeze)}));
}

void add_attention(Lesson& lesson, const LayerTrace& trace, const Names& squeeze) {
  lesson.steps.push_back(make_step(texts::kScores, {on_path(squeezed(trace.scores(), squeeze))}));
  if (trace.shape().causal) {
    lesson.steps.push_back(make_step(texts::kMask, {squeezed(trace.masked_scores(), squeeze)}));
  }
  lesson.steps.push_back(
      make_step(texts::kScaledSoftmax, {squeezed(trace.scaled_scores(), squeeze),
                                        on_path(squeezed(trace.attention_weights(), squeeze))}));
  lesson.steps.push_back(make_step(texts::kContext, {on_path(squeezed(trace.context(), squeeze))}));
}

void add_split_projections(Lesson& lesson, const LayerTrace& trace) {
  const Value flat_query = trace.query(kProjected), flat_key = trace.key(kProjected);
  lesson.steps.push_back(
      make_step(texts::kProject, {on_path(flat_query), flat_key, trace.value()}));
  const Value query = unrolled_heads(trace, flat_query);
  const Value key = unrolled_key_heads(trace, flat_key);
  const Value value = unrolled_key_heads(trace, trace.value());
  const bool groups = trace.shape().key_heads() != trace.shape().heads;
  lesson.steps.push_back(
      make_step(groups ? texts::kUnrollGrouped : texts::kUnroll, {on_path(query), key, value}));
  lesson.steps.push_back(
      make_step(texts::kGroup, {on_path(swapped(query, 1)), swapped(key, 1), swapped(value, 1)}));
  add_preparation(lesson, trace);
}

void add_head_weights(Lesson& lesson, const LayerTrace& trace) {
  if (has_score_rules(trace.shape())) {
    add_ruled_weights(lesson, trace);
    return;
  }
  lesson.steps.push_back(make_step(texts::kHeadScores, {on_path(trace.scores())}));
  if (trace.shape().causal) {
    lesson.steps.push_back(make_step(texts::kMask, {trace.masked_scores()}));
  }
  lesson.steps.push_back(
      make_step(texts::kHeadSoftmax, {trace.scaled_scores(), on_path(trace.attention_weights())}));
}

void add_merge(Lesson& lesson, const LayerTrace& trace) {
  lesson.steps.push_back(make_step(texts::kHeadContext, {on_path(trace.context_heads())}));
  lesson.steps.push_back(make_step(texts::kRegroup, {on_path(swapped(trace.context_heads(), 1))}));
  const bool as_wide = trace.shape().head_value_dim() == trace.shape().head_dim();
  lesson.steps.push_back(
      make_step(as_wide ? texts::kFlatten : texts::kFlattenValues, {on_path(trace.context())}));
  if (trace.shape().d_proj == 0) return;
  const Layer& layer = trace.layer();
  const Value weight = make_value("W_out", {trace.context_axis(), {"d_proj", layer.shape.d_proj}},
                                  layer.weights.output.view());
  const Value bias =
      make_value("b_out", {{"d_proj", layer.shape.d_proj}}, layer.weights.output_bias);
  lesson.steps.push_back(make_step(texts::kOutput, {weight, bias, on_path(trace.y())}));
}

void add_side_by_side(Lesson& lesson, const Case& shape) {
  constexpr std::int64_t kManyHeads = 96;
  ProductCount count;
  const bool grouped = shape.key_heads() != shape.heads;
  count.heads = shape.heads;
  count.key_heads = shape.key_heads();
  count.wrapper = shape.heads + 2 * shape.key_heads();
  count.split = 3;
  count.multiply_adds = shape.rows() * shape.d_in * (shape.d_out + 2 * shape.kv_width());
  std::string wide = product_text(shape, shape.d_out);
  if (grouped) wide += ", twice " + product_text(shape, shape.kv_width());
  const std::string adds = fmt::format("{}", count.multiply_adds);
  Step step = make_step(texts::kSideBySide, {});
  step.table =
      Table{"Matrix products for query, key and value",
            {"", "wrapper", "split"},
            {{"products", fmt::format("{}", count.wrapper), fmt::format("{}", count.split)},
             {"each of them", product_text(shape, shape.head_dim()), wide},
             {"multiply-adds together", adds, adds}}};
  if (!grouped) {
    step.table->rows.push_back({fmt::format("products with {} heads", kManyHeads),
                                fmt::format("{}", 3 * kManyHeads), "3"});
  }
  lesson.products = count;
  lesson.steps.push_back(std::move(step));
}

}  // namespace headroom::lesson
