#include "pick/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/group/cell_result.hpp"
#include "plan/budget.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

using record::CellResult;

bool stopped_early(const std::vector<CellResult>& round) {
  return std::none_of(round.begin(), round.end(),
                      [](const CellResult& result) { return result.has_time(); });
}

std::string note_of(const Pick& pick, int rounds, double budget) {
  const std::string more =
      rounds == 0 ? ""
                  : fmt::format("measured {} more of backends with fewer dependencies; ",
                                counted(rounds, "round"));
  if (pick.open_candidates.empty()) return more + "the choice is decided";
  return fmt::format(
      "{}the choice is open, and the budget of {} has no room for {}round; "
      "a larger --budget measures on",
      more, format_wait(budget), rounds == 0 ? "a second " : "another ");
}

}  // namespace

plan::Plan plan_of_open(const Contest& contest, const Pick& pick) {
  std::set<std::string> ids;
  for (const OpenCandidate& open : pick.open_candidates) {
    const ShapePick& shape = pick.shapes[open.shape];
    ids.insert(shape.candidates[open.candidate].result->cell.id);
    ids.insert(shape.candidates.front().result->cell.id);
  }
  plan::Plan plan = contest.plan;
  for (plan::Group& group : plan.groups) {
    std::erase_if(group.cells, [&](const plan::Cell& cell) { return !ids.contains(cell.id); });
  }
  std::erase_if(plan.groups, [](const plan::Group& group) { return group.cells.empty(); });
  return plan;
}

void add_round(record::ResultsFolder& folder, const std::vector<CellResult>& round,
               const Contest& contest) {
  for (const CellResult& more : round) {
    const auto known =
        std::find_if(folder.results.begin(), folder.results.end(), [&](const CellResult& result) {
          return result.cell.id == more.cell.id && result.has_time();
        });
    if (known == folder.results.end() || !more.has_time()) continue;
    CellResult joined = measure::join_parts({*known, more}, record::Peaks{contest.plan.target},
                                            contest.settings.seed);
    if (joined.has_time()) *known = std::move(joined);
  }
}

Pick pick_with_rounds(const Contest& contest, record::ResultsFolder& folder, const Filters& filters,
                      const std::function<double()>& seconds_spent, const MeasureRound& measure) {
  const double budget = contest.settings.budget.value_or(0);
  plan::Estimator estimator;
  for (const CellResult& result : folder.results) measure::learn(estimator, result);
  Pick found = pick(folder, contest.shapes(), filters);
  const bool was_open = !found.open_candidates.empty();
  int rounds = 0;
  while (!found.open_candidates.empty()) {
    const plan::Plan plan = plan_of_open(contest, found);
    const double left = budget - seconds_spent();
    if (plan::plan_seconds(plan, contest.settings.timing, estimator) > left) break;
    const std::vector<CellResult> round = measure(plan, left);
    if (stopped_early(round)) break;
    ++rounds;
    add_round(folder, round, contest);
    found = pick(folder, contest.shapes(), filters);
  }
  if (was_open) found.note = note_of(found, rounds, budget);
  return found;
}

}  // namespace headroom::pick
