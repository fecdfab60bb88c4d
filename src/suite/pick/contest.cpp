#include "pick/contest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "headroom/error.hpp"
#include "judge/cautions.hpp"
#include "machine/conditions.hpp"
#include "measure/progress.hpp"
#include "measure/runner.hpp"
#include "plan/budget.hpp"
#include "plan/expand.hpp"
#include "record/environment.hpp"
#include "record/journal.hpp"

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
  plan::fit_budget(contest.plan, settings.timing, *settings.budget, plan::Estimator());
  return contest;
}

namespace {

std::vector<record::CellResult> measure_into(record::Journal& journal, const plan::Plan& plan,
                                             const measure::Settings& settings) {
  measure::Progress progress;
  measure::Recording recording(journal, progress);
  return measure::run_plan(plan, settings, recording);
}

}  // namespace

std::vector<record::CellResult> run_round(const Contest& contest, const plan::Plan& plan,
                                          double seconds, const std::filesystem::path& folder) {
  record::Journal journal(folder);
  measure::Settings settings = contest.settings;
  settings.budget = seconds;
  return measure_into(journal, plan, settings);
}

void run_contest(const Contest& contest, const std::filesystem::path& folder) {
  const plan::Plan& plan = contest.plan;
  record::Journal journal(folder);
  nlohmann::ordered_json environment = record::describe_environment(plan.target);
  const nlohmann::ordered_json weights = record::describe_weights(plan);
  if (!weights.is_null()) environment["sweep"]["weights"] = weights;
  journal.write_environment(environment);
  measure_into(journal, plan, contest.settings);
}

}  // namespace headroom::pick
