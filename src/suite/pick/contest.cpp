#include "pick/contest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "headroom/error.hpp"
#include "judge/cautions.hpp"
#include "machine/conditions.hpp"
#include "measure/progress.hpp"
#include "measure/runner.hpp"
#include "plan/budget.hpp"
#include "plan/expand.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "record/environment.hpp"

namespace headroom::pick {
namespace {

// Per shape. The manual promises an answer within two minutes, and set-up takes part of them.
constexpr double kBudgetSeconds = 90;

// Removes the hopeless cells from a plan. @return their backends, for a note
std::vector<std::string> drop_hopeless(plan::Plan& plan) {
  const plan::Estimator estimator;
  std::set<std::string> dropped;
  for (plan::Group& group : plan.groups) {
    const auto seconds = [&](const plan::Cell& cell) {
      return estimator.forward_seconds(group.shape, cell);
    };
    double least = 0;
    for (const plan::Cell& cell : group.cells) {
      least = least == 0 ? seconds(cell) : std::min(least, seconds(cell));
    }
    std::erase_if(group.cells, [&](const plan::Cell& cell) {
      const bool hopeless = seconds(cell) > kHopeless * least;
      if (hopeless) dropped.insert(cell.backend);
      return hopeless;
    });
  }
  return {dropped.begin(), dropped.end()};
}

// Without --precision: all that could win within the error that is allowed.
plan::Axes with_precisions(plan::Axes axes, const Filters& filters) {
  if (axes.precision) return axes;
  std::vector<std::string_view> names{kAnyLikeF32};
  if (filters.max_error) {
    names.insert(names.end(), {"bf16x3", "bf16"});
    if (axes.weights_dtype) names.emplace_back("int8");
  }
  axes.precision = fmt::format("{}", fmt::join(names, ","));
  return axes;
}

// Nobody asked for these by name.
void drop_unsupported(plan::Plan& plan) {
  for (plan::Group& group : plan.groups) {
    const bool any = std::any_of(group.cells.begin(), group.cells.end(),
                                 [](const plan::Cell& cell) { return !cell.unsupported; });
    if (any) std::erase_if(group.cells, [](const plan::Cell& cell) { return cell.unsupported; });
  }
}

plan::Plan plan_of(const plan::Axes& axes, const Filters& filters) {
  if (!axes.sizes_given() && !axes.preset) {
    throw InvalidArgument(
        "pick needs a shape, such as --model gpt2 --tokens 128, or results with --from DIR");
  }
  const plan::Axes asked = with_precisions(axes, filters);
  plan::Plan plan = plan::expand(asked, {});
  if (!axes.precision) drop_unsupported(plan);
  for (plan::Group& group : plan.groups) {
    if (group.shape.rows() == 0) {
      throw InvalidArgument(fmt::format(
          "{} has nothing to compute; use at least one token and one sequence", group.shape.id()));
    }
    std::erase_if(group.cells, [&](const plan::Cell& cell) {
      return std::find(filters.without.begin(), filters.without.end(), cell.backend) !=
             filters.without.end();
    });
  }
  if (plan.cell_count() == 0) {
    throw InvalidArgument(
        fmt::format("--without {} leaves no backend; allow more", fmt::join(filters.without, ",")));
  }
  if (axes.backend) return plan;
  const std::vector<std::string> dropped = drop_hopeless(plan);
  if (!dropped.empty()) {
    plan.notes.push_back(
        fmt::format("not timed if estimated to be at least {} times slower than the fastest: {}; "
                    "--backend all times everything",
                    kHopeless, fmt::join(dropped, ", ")));
  }
  return plan;
}

}  // namespace

std::vector<Case> Contest::shapes() const {
  std::vector<Case> shapes;
  std::set<std::string> known;  // each stands there once for everything that is stored
  for (const plan::Group& group : plan.groups) {
    if (known.insert(group.shape.id()).second) shapes.push_back(group.shape);
  }
  return shapes;
}

namespace {

// A budget with some room to spare, as it is typed.
std::string budget_above(double seconds) {
  return fmt::format("--budget {:.0f}s", std::ceil(1.25 * seconds));
}

void require_room(const Contest& contest, const plan::Group& group) {
  const bool any = std::any_of(group.cells.begin(), group.cells.end(), [](const plan::Cell& cell) {
    return cell.unsupported || cell.skip_reason.empty();
  });
  if (any) return;
  throw ResourceError(fmt::format(
      "a budget of {} has no room for any candidate of {}; give {} for all of them, or name fewer "
      "with --backend and --formulation",
      format_wait(*contest.settings.budget), group.shape.id(), budget_above(contest.least_budget)));
}

// Estimates are of a machine that is idle.
void require_times(const Contest& contest, const std::vector<record::CellResult>& results) {
  for (const Case& shape : contest.shapes()) {
    bool measured = false, skipped = false;
    for (const record::CellResult& result : results) {
      if (result.shape.id() != shape.id()) continue;
      measured = measured || result.has_time() || record::is_broken(result.status);
      skipped = skipped || result.status == record::Status::skipped;
    }
    if (measured || !skipped) continue;
    const double budget = *contest.settings.budget;
    throw ResourceError(fmt::format(
        "the budget of {} went by before any candidate of {} was measured: this machine is busy, "
        "or slower than was estimated; give {}",
        format_wait(budget), shape.id(), budget_above(2 * std::max(budget, contest.least_budget))));
  }
}

std::vector<record::CellResult> measured(const plan::Plan& plan,
                                         const measure::Settings& settings) {
  measure::Progress progress;
  return measure::run_plan(plan, settings, progress);
}

}  // namespace

Contest prepare_contest(const plan::Axes& axes, const Filters& filters,
                        std::optional<double> budget, machine::LimitKernelsOf limits_of) {
  Contest contest;
  contest.plan = plan_of(axes, filters);
  for (std::string& caution :
       judge::cautions_before(machine::current_conditions(), record::is_release_build())) {
    contest.plan.warnings.push_back(std::move(caution));
  }
  contest.settings = measure::settings_for(contest.plan.target, limits_of);
  measure::Settings& settings = contest.settings;
  settings.budget =
      budget.value_or(kBudgetSeconds * static_cast<double>(contest.plan.groups.size()));
  contest.least_budget = plan::least_budget(contest.plan, settings.timing, plan::Estimator());
  plan::fit_budget(contest.plan, settings.timing, *settings.budget, plan::Estimator());
  for (const plan::Group& group : contest.plan.groups) require_room(contest, group);
  return contest;
}

record::ResultsFolder run_contest(const Contest& contest) {
  const plan::Plan& plan = contest.plan;
  record::ResultsFolder folder;
  folder.environment = record::describe_environment(plan.target);
  const nlohmann::ordered_json weights = record::describe_weights(plan);
  if (!weights.is_null()) folder.environment["sweep"]["weights"] = weights;
  folder.results = measured(plan, contest.settings);
  if (stop_signal() == 0) require_times(contest, folder.results);
  return folder;
}

std::vector<record::CellResult> run_round(const Contest& contest, const plan::Plan& plan,
                                          double seconds) {
  measure::Settings settings = contest.settings;
  settings.budget = seconds;
  return measured(plan, settings);
}

}  // namespace headroom::pick
