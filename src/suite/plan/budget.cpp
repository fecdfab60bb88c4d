#include "plan/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

void skip_dearest(Plan& plan, const TimingPlan& timing, double budget, const Estimator& estimator,
                  double total) {
  struct Candidate {
    double seconds;
    Cell* cell;
    const Group* group;
  };
  std::vector<Candidate> dearest;
  std::map<const Group*, std::size_t> kept;
  for (Group& group : plan.groups) {
    kept[&group] = 0;
    for (Cell& cell : group.cells) {
      if (!cell.skip_reason.empty()) continue;
      ++kept[&group];
      dearest.push_back({estimator.cell_seconds(group.shape, cell, timing), &cell, &group});
    }
  }
  std::stable_sort(dearest.begin(), dearest.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  for (const Candidate& candidate : dearest) {
    if (total <= budget) return;
    candidate.cell->skip_reason = fmt::format("would take about {}, and the whole budget is {}",
                                              format_wait(candidate.seconds), format_wait(budget));
    total -= candidate.seconds;
    // A shape without cells needs no expected result either.
    if (--kept[candidate.group] == 0) {
      total -= estimator.group_seconds(*candidate.group, timing);
    }
  }
}

}  // namespace

double seconds_of(const Group& group, const TimingPlan& timing, const Estimator& estimator,
                  const Limits& limits) {
  double seconds = 0;
  bool any = false;
  for (const Cell& cell : group.cells) {
    const CellEstimate estimate = estimator.estimate(group.shape, cell, timing);
    if (!reason_to_skip(group.shape, cell, estimate, limits).empty()) continue;
    any = true;
    seconds += estimate.seconds;
  }
  return any ? seconds + estimator.group_seconds(group, timing) : 0;
}

double plan_seconds(const Plan& plan, const TimingPlan& timing, const Estimator& estimator,
                    const Limits& limits) {
  double seconds = 0;
  for (const Group& group : plan.groups) seconds += seconds_of(group, timing, estimator, limits);
  return seconds;
}

double least_budget(const Plan& plan, TimingPlan timing, const Estimator& estimator) {
  timing.repetitions = std::min(timing.repetitions, kMinRepetitions);
  return plan_seconds(plan, timing, estimator);
}

void fit_budget(Plan& plan, TimingPlan& timing, double budget, const Estimator& estimator) {
  double total = plan_seconds(plan, timing, estimator);
  while (total > budget && timing.repetitions > kMinRepetitions) {
    --timing.repetitions;
    total = plan_seconds(plan, timing, estimator);
  }
  skip_dearest(plan, timing, budget, estimator, total);
}

}  // namespace headroom::plan
