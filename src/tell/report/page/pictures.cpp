#include "report/page/pictures.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "report/page/assets.hpp"
#include "report/page/filter_program.hpp"

namespace headroom::report {
namespace {

// ECharts fills the object that it is given as a module's exports.
std::string script_of(std::string_view data) {
  const Assets& parts = assets();
  return fmt::format(
      "const echarts = {{}};\n(function (exports, module) {{\n{}\n}})(echarts, {{}});\n{}\n"
      "const reportData = {};\n{}\n",
      parts.echarts, parts.charts, data, parts.picture);
}

// A thousand cells take node two. Short of memory or processes it may wait for ever.
constexpr double kMostSeconds = 30;

Pictures without(const std::string& reason) { return {{}, reason}; }

}  // namespace

Pictures draw_pictures(std::string_view data) {
  if (assets().echarts.empty()) {
    return without(
        "Apache ECharts was not installed when headroom was built; run scripts/setup with "
        "network access, build again, and repeat headroom report");
  }
  const FilterResult result = filter_through("node", {"-"}, script_of(data), kMostSeconds);
  if (!result.started) {
    return without(
        fmt::format("node could not be started ({}); install Node.js (on Debian: apt-get "
                    "install nodejs) and repeat headroom report",
                    result.reason));
  }
  const auto answer = nlohmann::json::parse(result.output, nullptr, false);
  if (!result.reason.empty() || !answer.is_object()) {
    return without(
        fmt::format("node drew nothing ({}); use version 18 or later, with enough memory and "
                    "processes, and repeat headroom report",
                    result.reason.empty() ? "its answer is not JSON" : result.reason));
  }
  if (answer.contains("error")) return without("node drew nothing: " + answer["error"].dump());
  Pictures pictures;
  for (const auto& picture : answer.at("pictures")) {
    pictures.drawn.push_back(
        {picture.at("name").get<std::string>(), picture.at("title").get<std::string>(),
         picture.at("note").get<std::string>(), picture.at("svg").get<std::string>()});
  }
  for (const auto& chart : answer.at("missing")) {
    pictures.not_drawn.push_back(
        {chart.at("title").get<std::string>(), chart.at("reason").get<std::string>()});
  }
  return pictures;
}

}  // namespace headroom::report
