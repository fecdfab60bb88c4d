#include "lesson/lesson_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lesson/lesson_text.hpp"
#include "lesson/times_text.hpp"
#include "machine/processor.hpp"
#include "page/embedded.hpp"
#include "page/template.hpp"
#include "program/json_text.hpp"

HEADROOM_ASSET(lesson_page, HEADROOM_LESSON_ASSETS "/lesson.html")
HEADROOM_ASSET(lesson_style, HEADROOM_LESSON_ASSETS "/lesson.css")
HEADROOM_ASSET(lesson_scripts, HEADROOM_LESSON_ASSETS "/lesson.js")

namespace headroom::lesson {
namespace {

using nlohmann::ordered_json;

ordered_json times_json(const std::vector<ShapeTimes>& times) {
  ordered_json shapes = ordered_json::array();
  for (const ShapeTimes& one : times) {
    ordered_json rows = ordered_json::array();
    for (const FormulationTimes& row : one.backends) {
      const judge::Difference& difference = row.difference;
      rows.push_back(
          {{"backend", row.backend},
           {"wrapper_s", row.wrapper},
           {"split_s", row.split},
           {"speed_up", {1 / difference.ratio, 1 / difference.ci95.high, 1 / difference.ci95.low}},
           {"verdict", to_string(difference.verdict)}});
    }
    shapes.push_back({{"caption", fmt::format("{} ({})", shape_text(one.shape), one.shape.id())},
                      {"findings", findings(one)},
                      {"backends", rows}});
  }
  return shapes;
}

}  // namespace

std::string page_of(const Lesson& lesson, const std::vector<ShapeTimes>& times) {
  ordered_json data = to_json(lesson);
  data["times"] = times_json(times);
  data["verdict_note"] = verdict_note(times);
  data["processor"] = machine::describe_processor().name;
  return page::filled(
      lesson_page_text(),
      {"explain", page::escape_html(lesson.title), std::string(lesson_style_text()), true},
      {{"about", page::escape_html(lesson.about)},
       {"scripts", std::string(lesson_scripts_text())},
       {"text", page::escape_html(to_text(lesson))},
       {"data", page::packed(headroom::to_text(data))}});
}

}  // namespace headroom::lesson
