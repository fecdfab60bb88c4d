#include "show/versions/trend_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "program/numbers.hpp"
#include "show/versions/gap_groups.hpp"
#include "statistics/samples.hpp"
#include "trend/find_steps.hpp"
#include "trend/stretches.hpp"

namespace headroom::show {
namespace {

using trend::MachineTrend;
using trend::Series;
using trend::State;
using trend::Step;
using trend::Trend;

// Names of level cells that a table lists; --json has all.
constexpr std::size_t kNamed = 12;

void add_to_group(std::vector<StepGroup>& groups, const StepGroup& like, StepGroup::Cell cell) {
  const auto same = [&](const StepGroup& group) {
    return group.machine == like.machine && group.before == like.before &&
           group.after == like.after && group.slower == like.slower && group.maybe == like.maybe;
  };
  auto group = std::find_if(groups.begin(), groups.end(), same);
  if (group == groups.end()) group = groups.insert(groups.end(), like);
  group->cells.push_back(cell);
}

// ISO 8601 in UTC, so the order of the texts is that of time.
const std::string& time_of(const StepGroup& group) {
  const trend::Version& version = group.version_after();
  return group.machine->by_commit ? version.committed : version.measured;
}

template <class Asked>
std::size_t count_of(const Trend& trend, Asked asked) {
  std::size_t all = 0;
  for (const MachineTrend& machine : trend.machines) {
    all += static_cast<std::size_t>(
        std::count_if(machine.series.begin(), machine.series.end(), asked));
  }
  return all;
}

std::size_t count(const Trend& trend, State state) {
  return count_of(trend, [state](const Series& series) { return series.state() == state; });
}

std::string group_lines(const StepGroup& group, std::size_t width) {
  std::string text =
      fmt::format("{}  {} -> {}  {}  {:.3f}  {}\n", group.machine->machine,
                  group.version_before().name, group.version_after().name,
                  counted(group.cells.size(), "cell"), group.median_ratio(), step_words(group));
  for (const StepGroup::Cell& cell : group.cells) {
    const Step& step = *cell.step;
    fmt::format_to(std::back_inserter(text), "    {:<{}}  {:>6.3f}  {:>6.3f} - {:.3f}{}\n",
                   cell.series->id, width, step.ratio, step.ci95.low, step.ci95.high,
                   gate_remark(*cell.series));
    for (const std::string& change : step.changes) {
      fmt::format_to(std::back_inserter(text), "        also changed: {}\n", change);
    }
  }
  if (group.most_of_the_machine()) {
    text += "    most cells of this machine moved together: the machine itself may have changed\n";
  }
  return text;
}

std::string names_of(const MachineTrend& machine, State state, const char* words) {
  std::string text;
  std::size_t all = 0;
  for (const Series& series : machine.series) {
    if (series.state() != state) continue;
    if (all++ < kNamed) text += "    " + series.id + "\n";
  }
  if (all == 0) return "";
  if (all > kNamed) {
    text += fmt::format("    and {} more, which --json and --page have\n", all - kNamed);
  }
  return fmt::format("{}  {} {}\n{}", machine.machine, counted(all, "cell"), words, text);
}

// Their names would say nothing: of a young store they are all cells.
std::string too_few_line(const MachineTrend& machine) {
  const auto few =
      std::count_if(machine.series.begin(), machine.series.end(),
                    [](const Series& series) { return series.state() == State::too_few; });
  if (few == 0) return "";
  return fmt::format("{}  {} in fewer than {} versions, too few to tell\n", machine.machine,
                     counted(static_cast<std::size_t>(few), "cell"), trend::kLeastVersions);
}

}  // namespace

double StepGroup::median_ratio() const {
  std::vector<double> ratios;
  for (const Cell& cell : cells) ratios.push_back(cell.step->ratio);
  return statistics::median(std::move(ratios));
}

std::vector<StepGroup> step_groups(const Trend& trend) {
  std::vector<StepGroup> groups;
  for (const MachineTrend& machine : trend.machines) {
    for (const Series& series : machine.series) {
      for (const Step& step : series.steps) {
        add_to_group(groups, {&machine, step.before, step.after, step.slower(), false, {}},
                     {&series, &step});
      }
      if (!series.maybe) continue;
      const Step& step = *series.maybe;
      add_to_group(groups, {&machine, step.before, step.after, step.slower(), true, {}},
                   {&series, &step});
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const StepGroup& a, const StepGroup& b) {
    if (a.maybe != b.maybe) return a.maybe;
    if (time_of(a) != time_of(b)) return time_of(a) > time_of(b);
    return a.slower && !b.slower;
  });
  return groups;
}

std::string step_words(const StepGroup& group) {
  return fmt::format("{}{}", group.maybe ? "maybe " : "", group.slower ? "slower" : "faster");
}

std::string trend_headline(const Trend& trend) {
  std::size_t all = 0;
  for (const MachineTrend& machine : trend.machines) all += machine.series.size();
  std::string text =
      fmt::format("{} on {}: {} changed, {} maybe, {} level", counted(all, "cell"),
                  counted(trend.machines.size(), "machine"), count(trend, State::stepped),
                  count(trend, State::maybe), count(trend, State::level));
  const std::size_t too_few = count(trend, State::too_few);
  if (too_few > 0) text += fmt::format(", {} in too few versions", too_few);
  const std::size_t broke = count_of(trend, [](const Series& series) { return series.broke(); });
  if (broke > 0) text += fmt::format(", {} broken now", broke);
  const std::size_t untimed = count(trend, State::untimed);
  if (untimed > 0) text += fmt::format(", {} never verified", untimed);
  return text;
}

std::string machine_line(const MachineTrend& machine) {
  std::string text =
      fmt::format("{} ({}): {} in the order of their {}, from {} to {}, {}", machine.machine,
                  machine.processor, counted(machine.versions.size(), "version"),
                  machine.by_commit ? "commits" : "measurement", machine.versions.front().name,
                  machine.versions.back().name, counted(machine.series.size(), "cell"));
  const auto steadied = std::count_if(machine.series.begin(), machine.series.end(),
                                      [](const Series& series) { return series.by_control; });
  return text + fmt::format(", {} of them corrected by the control", steadied);
}

std::string trend_method(const Trend& trend) {
  std::string text = fmt::format(
      "step: the levels of at least {} versions on each side differ by more than {:.3g} % or the "
      "noise floor,\n      the 95 % interval does not reach 1, and p < {}, corrected for all "
      "places "
      "and all cells of the machine;\n      {:.2g} % of the steps that are claimed are expected to "
      "be "
      "false\n",
      trend::kLeastOfASide, 100 * trend.threshold, trend::kFalseSteps, 100 * trend::kFalseSteps);
  text += fmt::format(
      "maybe: only the newest version differs (p < {}): measure it again, or wait for the next\n",
      trend::kFalseMaybes);
  text +=
      "broken: failed, crashed or declined; cells that only skipped or declining versions have are "
      "not listed\n";
  for (const MachineTrend& machine : trend.machines) {
    if (machine.noise_floor <= trend.threshold) continue;
    text += fmt::format("margin on {}: its noise floor, {:.3g} %\n", machine.machine,
                        100 * machine.noise_floor);
  }
  return text;
}

std::string trend_table(const Trend& trend) {
  std::string text;
  for (const MachineTrend& machine : trend.machines) text += machine_line(machine) + "\n";
  const std::vector<StepGroup> groups = step_groups(trend);
  std::size_t width = 4;
  for (const StepGroup& group : groups) {
    for (const StepGroup::Cell& cell : group.cells) width = std::max(width, cell.series->id.size());
  }
  text += groups.empty() ? "\nno steps\n"
                         : "\nsteps, newest first: ratio after/before, 95 % interval\n";
  for (const StepGroup& group : groups) text += group_lines(group, width);
  text += gap_table(trend) + "\n";
  for (const MachineTrend& machine : trend.machines) {
    text += names_of(machine, State::level, "level");
    text += too_few_line(machine);
  }
  return text + fmt::format("\n{}\n{}", trend_headline(trend), trend_method(trend));
}

}  // namespace headroom::show
