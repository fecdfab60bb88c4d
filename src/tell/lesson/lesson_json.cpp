#include <cmath>
#include <nlohmann/json.hpp>

#include "lesson/examples.hpp"
#include "lesson/lesson_text.hpp"

namespace headroom::lesson {
namespace {

using nlohmann::ordered_json;

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::embeddings:
      return "embeddings";
    case Value::Kind::attention:
      return "attention";
    case Value::Kind::plain:
      break;
  }
  return "plain";
}

ordered_json number_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

ordered_json value_json(const Value& value) {
  ordered_json axes = ordered_json::array();
  ordered_json shape = ordered_json::array();
  for (const Axis& axis : value.axes) {
    ordered_json json{{"name", axis.name}};
    if (!axis.labels.empty()) json["labels"] = axis.labels;
    axes.push_back(std::move(json));
    shape.push_back(axis.size);
  }
  ordered_json data = ordered_json::array();
  for (const double number : value.data) data.push_back(number_json(number));
  return {{"name", value.name}, {"kind", kind_name(value.kind)},
          {"shape", shape},     {"on_path", value.on_path},
          {"axes", axes},       {"data", data}};
}

ordered_json step_json(const Step& step) {
  ordered_json values = ordered_json::array();
  for (const Value& value : step.values) values.push_back(value_json(value));
  ordered_json json{{"title", step.title},
                    {"text", step.text},
                    {"correction", step.correction},
                    {"values", values}};
  if (step.table) {
    json["table"] = {{"caption", step.table->caption},
                     {"columns", step.table->columns},
                     {"rows", step.table->rows}};
  }
  return json;
}

}  // namespace

ordered_json to_json(const Lesson& lesson) {
  ordered_json steps = ordered_json::array();
  for (const Step& step : lesson.steps) steps.push_back(step_json(step));
  ordered_json json{{"schema", "headroom.lesson/1"},
                    {"name", lesson.name},
                    {"title", lesson.title},
                    {"about", lesson.about},
                    {"words", lesson.words},
                    {"passed", lesson.passed},
                    {"steps", steps}};
  if (lesson.products) {
    json["products"] = {{"heads", lesson.products->heads},
                        {"key_heads", lesson.products->key_heads},
                        {"wrapper", lesson.products->wrapper},
                        {"split", lesson.products->split},
                        {"multiply_adds", lesson.products->multiply_adds}};
  }
  return json;
}

ordered_json examples_json() {
  ordered_json list = ordered_json::array();
  for (const Example& example : examples()) {
    list.push_back({{"name", example.name},
                    {"line", example.line},
                    {"input", example.any_input},
                    {"heads", example.any_heads},
                    {"seed", example.drawn}});
  }
  return {{"schema", "headroom.examples/1"}, {"examples", list}};
}

}  // namespace headroom::lesson
