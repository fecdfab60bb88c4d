#include "lesson/examples/split_steps.hpp"

#include <fmt/format.h>

#include <utility>

#include "lesson/answer.hpp"
#include "lesson/steps/latent_projections.hpp"
#include "lesson/steps/layer_steps.hpp"
#include "lesson/steps/order_steps.hpp"

namespace headroom::lesson {

Lesson started_split(const Subject& subject, std::string title, const std::string& weights) {
  Lesson lesson;
  lesson.title = std::move(title);
  lesson.about = fmt::format("{}; {} in the batch, {}", subject.source, subject.batch, weights);
  lesson.words = subject.words;
  return lesson;
}

void add_split_beginning(Lesson& lesson, const LayerTrace& trace, const Text& weights) {
  add_input(lesson, trace, {});
  if (trace.shape().is_latent()) {
    add_latent_projections(lesson, trace, weights);
  } else {
    lesson.steps.push_back(make_step(weights, trace.projections()));
    add_split_projections(lesson, trace);
  }
  add_head_weights(lesson, trace);
}

void add_split_end(Lesson& lesson, const LayerTrace& trace) {
  add_merge(lesson, trace);
  if (trace.shape().is_latent()) {
    add_absorbed_order(lesson, trace);
  } else {
    add_side_by_side(lesson, trace.shape());
  }
  add_answer(lesson, trace, {Formulation::split, Formulation::wrapper}, {});
}

}  // namespace headroom::lesson
