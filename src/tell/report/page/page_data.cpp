#include "report/page/page_data.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "backends/backend.hpp"
#include "judge/core_rate.hpp"
#include "judge/peers.hpp"
#include "program/json_text.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;

// Six digits: more than any chart or table shows.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

ordered_json versus_json(const std::optional<Versus>& versus, bool as_speed_up) {
  if (!versus) return nullptr;
  const judge::Difference& difference = versus->difference;
  const double ratio = as_speed_up ? versus->speed_up() : difference.ratio;
  const statistics::Interval ci95 = as_speed_up ? versus->speed_up_ci95() : difference.ci95;
  return {rounded(ratio), rounded(ci95.low), rounded(ci95.high),
          std::string(to_string(difference.verdict))};
}

ordered_json finding_json(const Findings& findings, const Contest& contest) {
  const record::CellResult& cell = *contest.cell;
  if (cell.status != record::Status::ok) return nullptr;
  ordered_json json{{"baseline", versus_json(contest.over_baseline, true)},
                    {"wrapper", versus_json(contest.over_wrapper, true)},
                    {"fastest", versus_json(contest.behind_fastest, false)}};
  if (const std::optional<Roof> roof = roof_of(*findings.folder, cell, findings.roofs)) {
    json["flops_per_byte"] = rounded(roof->flops_per_byte);
  }
  if (const std::optional<Share> share = share_of_limit(*findings.folder, cell, findings.roofs)) {
    json["share"] = rounded(share->value);
    json["limit"] = share->of_memory ? "memory" : arithmetic_words(*share);
    // A pass may be above both roofs, for reasons of their own.
    std::set<std::string_view> reasons;
    if (show::above_limit(share->value)) reasons.insert(show::why_above(share->limit));
    if (show::above_limit(cell.tile_fraction.value_or(0))) {
      reasons.insert(show::why_above(show::Limit::beside));
    }
    if (!reasons.empty()) json["above"] = fmt::format("{}", fmt::join(reasons, "; "));
  }
  if (const std::optional<double> cores = judge::too_few_cores(cell, findings.roofs)) {
    json["cores"] = rounded(*cores);
  }
  return json;
}

// In the order that the measuring program lists them.
ordered_json backend_names(const ordered_json& environment) {
  ordered_json names = ordered_json::array();
  const ordered_json& backends = value_at(environment, "/backends");
  if (!backends.is_array()) return names;
  for (const ordered_json& backend : backends) {
    const std::string name = text_at(backend, "/name", "");
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string page_data(const Findings& findings, std::string_view focus) {
  const record::ResultsFolder& folder = *findings.folder;
  std::string lines;
  for (const std::string& line : folder.lines) lines += line + "\n";
  ordered_json order = ordered_json::array();
  std::vector<ordered_json> by_place(folder.results.size());
  std::vector<std::string> shapes(folder.results.size());
  for (const ShapeFindings& shape : findings.shapes) {
    for (const Contest& contest : shape.contests) {
      const auto place = static_cast<std::size_t>(contest.cell - folder.results.data());
      order.push_back(place);
      shapes[place] = shape.contest_name;
      by_place[place] = finding_json(findings, contest);
    }
  }
  for (const PrecisionFindings& shape : findings.precisions) {
    for (const PrecisionPoint& point : shape.points) {
      const auto place = static_cast<std::size_t>(point.cell - folder.results.data());
      by_place[place]["over_f32"] = versus_json(point.over_f32, true);
      by_place[place]["front"] = point.on_front;
    }
  }
  const ordered_json data{{"schema", "headroom.report/1"},
                          {"environment", folder.environment},
                          {"roofs", record::to_json(findings.roofs)},
                          {"results", lines},
                          {"order", order},
                          {"shapes", shapes},
                          {"findings", by_place},
                          {"baseline", baseline_backend()},
                          {"backends", backend_names(folder.environment)},
                          {"peers", judge::peer_names(folder)},
                          {"noise_floor", rounded(findings.noise_floor)},
                          {"margin", rounded(findings.margin)},
                          {"focus", focus}};
  return headroom::to_text(data);
}

}  // namespace headroom::report
