#include "lesson/answer.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/case_layer.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "lesson/texts/texts.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"

namespace headroom::lesson {
namespace {

// One thread: the layers of a lesson are smaller than what it costs to wake a second one.
AttentionOptions options_for(std::string backend, Formulation formulation) {
  AttentionOptions options;
  options.backend = std::move(backend);
  options.formulation = formulation;
  options.threads = 1;
  return options;
}

Matrix run(const Layer& layer, const AttentionOptions& options) {
  Attention attention = layer_for(layer.shape, layer.weights, options);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return y;
}

std::vector<std::string> row_for(const Layer& layer, const reference::Expected& expected,
                                 const std::string& backend, Formulation formulation,
                                 bool& passed) {
  const std::string name(to_string(formulation));
  try {
    const Matrix y = run(layer, options_for(backend, formulation));
    const reference::Comparison found =
        reference::compare(expected, y.view(), reference::Data::adversarial);
    const double difference = largest_difference({y.values.begin(), y.values.end()}, expected.y);
    passed = passed && found.passed;
    return {backend, name, fmt::format("{:.1e}", difference),
            fmt::format("{:.2g} of its bound", found.bound_ratio),
            found.passed ? "agrees" : "differs: " + found.reason};
  } catch (const Unsupported& error) {
    return {backend, name, "-", "-", fmt::format("not run: {}", error.what())};
  }
}

}  // namespace

void add_answer(Lesson& lesson, const LayerTrace& trace,
                const std::vector<Formulation>& formulations,
                const std::vector<std::string>& squeeze) {
  const Layer& layer = trace.layer();
  const reference::Expected expected = reference::attention(
      layer.shape, layer.weights, layer.x.view(), reference::all_rows(layer.shape), 1);
  Table table{"The library's backends beside the double-precision oracle",
              {"backend", "formulation", "largest difference", "worst element", "verdict"},
              {}};
  for (const BackendInfo& backend : backends()) {
    if (!backend.available) continue;
    for (const Formulation formulation : formulations) {
      table.rows.push_back(row_for(layer, expected, backend.name, formulation, lesson.passed));
    }
  }
  const Matrix y = run(layer, options_for(std::string(kAuto), formulations.front()));
  Value value = trace.y();
  value.data.assign(y.values.begin(), y.values.end());
  value.name = "y of the library";
  Step step = make_step(texts::kAnswer, {squeezed(std::move(value), squeeze)});
  step.table = std::move(table);
  lesson.steps.push_back(std::move(step));
}

}  // namespace headroom::lesson
