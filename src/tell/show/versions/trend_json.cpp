#include <nlohmann/json.hpp>
#include <optional>

#include "core/text/names.hpp"
#include "program/json_text.hpp"
#include "show/versions/gap_groups.hpp"
#include "show/versions/trend_table.hpp"

namespace headroom::show {
namespace {

using nlohmann::ordered_json;
using trend::MachineTrend;
using trend::Series;
using trend::State;
using trend::Step;
using trend::Trend;

constexpr Name<State> kStates[] = {{State::stepped, "stepped"},
                                   {State::maybe, "maybe"},
                                   {State::level, "level"},
                                   {State::too_few, "too few versions"},
                                   {State::untimed, "no time"}};

// Versions by their names, because that is what a reader looks for.
ordered_json step_json(const MachineTrend& machine, const Step& step) {
  return {{"before", machine.versions[step.before].name},
          {"after", machine.versions[step.after].name},
          {"verdict", step.slower() ? "slower" : "faster"},
          {"ratio", step.ratio},
          {"ratio_ci95", {step.ci95.low, step.ci95.high}},
          {"corrected_p", step.corrected_p},
          {"also_changed", step.changes}};
}

ordered_json breach_json(const MachineTrend& machine, const Series& series) {
  const std::optional<trend::Breach> breach = series.breach();
  if (!breach) return nullptr;
  return {
      {"fine_until", breach->fine_until ? ordered_json(machine.versions[*breach->fine_until].name)
                                        : ordered_json(nullptr)},
      {"since", machine.versions[breach->since].name}};
}

ordered_json series_json(const MachineTrend& machine, const Series& series) {
  ordered_json points = ordered_json::array();
  for (const trend::Point& point : series.points) points.push_back({point.version, point.seconds});
  ordered_json steps = ordered_json::array();
  for (const Step& step : series.steps) steps.push_back(step_json(machine, step));
  ordered_json gaps = ordered_json::array();
  for (const trend::Gap& gap : series.gaps) {
    gaps.push_back({{"version", machine.versions[gap.version].name},
                    {"status", gap_word(gap)},
                    {"reason", gap.reason}});
  }
  return {{"id", series.id},
          {"state", name_of(kStates, series.state())},
          {"peer", series.peer},
          {"linkable", series.linkable},
          {"by_control", series.by_control},
          {"level_s_by_version", points},
          {"without_time", gaps},
          {"broken", breach_json(machine, series)},
          {"steps", steps},
          {"maybe", series.maybe ? step_json(machine, *series.maybe) : ordered_json(nullptr)}};
}

ordered_json machine_json(const Trend& trend, const MachineTrend& machine) {
  ordered_json versions = ordered_json::array();
  for (const trend::Version& version : machine.versions) {
    versions.push_back({{"version", version.name},
                        {"committed", version.committed},
                        {"measured", version.measured}});
  }
  ordered_json cells = ordered_json::array();
  for (const Series& series : machine.series) cells.push_back(series_json(machine, series));
  return {{"machine", machine.machine},
          {"processor", machine.processor},
          {"ordered_by", machine.by_commit ? "commit" : "measurement"},
          {"noise_floor", machine.noise_floor},
          {"margin", trend.margin_of(machine)},
          {"versions", versions},
          {"cells", cells}};
}

}  // namespace

ordered_json to_json(const Trend& trend) {
  ordered_json machines = ordered_json::array();
  for (const MachineTrend& machine : trend.machines) {
    machines.push_back(machine_json(trend, machine));
  }
  return {{"schema", "headroom.trend/1"},
          {"threshold", trend.threshold},
          {"slower_at_newest_step", trend.slower_at_newest_step()},
          {"broken_now", trend.broke()},
          {"machines", machines}};
}

}  // namespace headroom::show
