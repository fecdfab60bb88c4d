#include "measure/sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "headroom/error.hpp"
#include "judge/cautions.hpp"
#include "machine/conditions.hpp"
#include "machine/memory.hpp"
#include "measure/cache_emptier.hpp"
#include "measure/progress.hpp"
#include "measure/roofs.hpp"
#include "measure/runner.hpp"
#include "plan/budget.hpp"
#include "plan/expand.hpp"
#include "program/json_text.hpp"
#include "program/signals.hpp"
#include "record/continuation.hpp"
#include "record/journal.hpp"
#include "record/run_record.hpp"

namespace headroom::measure {
namespace {

using nlohmann::ordered_json;

// Counters see one process, and other machines have an energy of their own.
void say_ranks_use(ordered_json& environment) {
  ordered_json& now = environment["conditions"];
  for (const char* name : {"energy", "counters", "throttling"}) {
    now[name] = nullptr;
    now["unavailable"][name] = "not available: cells of several ranks are not counted";
  }
}

// Sets what empties the caches before each sample.
void set_caches(const SweepRequest& request, plan::TimingPlan& timing) {
  timing.cold = request.cache == plan::CacheState::cold;
  if (!timing.cold) return;
  if (request.limits_of == nullptr) {
    throw Unavailable(
        "--cache cold empties the caches with a SIMD kernel, and this build has none; build with "
        "SIMD kernels or measure with --cache warm");
  }
  timing.emptying = seconds_to_empty_caches();
}

void share_with_ranks(const SweepRequest& request, Settings& settings) {
  if (request.cache == plan::CacheState::cold) {
    throw InvalidArgument(
        "--cache cold: only the first rank could empty its caches; measure with --cache warm, or "
        "without --ranks");
  }
  if (request.processes && *request.processes > 1) {
    throw InvalidArgument(
        "--processes: MPI knows one process a rank, so all samples of a run come from the same "
        "ones; leave it out, and repeat the whole run for what differs between launches");
  }
  settings.timing.processes = 1;
  settings.usage.reset();
  settings.crew = request.crew;
  request.crew->set_patience(request.timeout.value_or(kPatience));
}

Settings settings_of(const SweepRequest& request) {
  Settings settings;
  if (request.repetitions) settings.timing.repetitions = *request.repetitions;
  if (request.processes) settings.timing.processes = *request.processes;
  if (request.min_time) settings.timing.min_time = *request.min_time;
  settings.seed = request.seed;
  settings.budget = request.budget;
  if (!request.budget) settings.timing.cell_limit = plan::kCellLimitSeconds;
  settings.timeout = request.timeout;
  settings.memory_limit = machine::usable_memory(request.max_memory);
  settings.usage = request.usage;
  if (request.crew != nullptr) share_with_ranks(request, settings);
  set_caches(request, settings.timing);
  if (settings.timing.cold) require_emptiable_caches(settings.memory_limit);
  return settings;
}

std::vector<std::string> warnings_of(const plan::Plan& plan) {
  std::vector<std::string> warnings = plan.warnings;
  const machine::Conditions now = machine::current_conditions();
  for (std::string& caution : judge::cautions_before(now, record::is_release_build())) {
    warnings.push_back(std::move(caution));
  }
  return warnings;
}

// Joins kept and new results, and keeps the cells of each group together.
void join(std::vector<record::CellResult>& results, std::vector<record::CellResult> kept) {
  std::map<std::pair<std::string, Numbers>, std::size_t> places;
  results.insert(results.begin(), std::make_move_iterator(kept.begin()),
                 std::make_move_iterator(kept.end()));
  const auto group = [](const record::CellResult& result) {
    return std::pair(result.shape.id(), result.cell.numbers.as_stored());
  };
  for (const auto& result : results) places.try_emplace(group(result), places.size());
  std::stable_sort(results.begin(), results.end(), [&](const auto& a, const auto& b) {
    return places.at(group(a)) < places.at(group(b));
  });
}

// Takes seconds, many where the caches are large: nothing larger can be read faster. The idle power
// comes first, while the processor is cool and no thread of ours has run.
record::Peaks limits_of_machine(const PreparedSweep& sweep, const SweepTarget& target) {
  std::optional<double> idle;
  if (sweep.settings.usage) {
    idle = machine::idle_watts(machine::EnergyMeter(sweep.usage.root), machine::kIdleSeconds);
  }
  if (sweep.limits_of != nullptr) {
    target.note("measuring the limits of this machine before the first cell");
  }
  record::Peaks peaks =
      measure_peaks(sweep.plan, sweep.limits_of, [] { return stop_signal() != 0; });
  peaks.idle_watts = idle;
  return peaks;
}

void measure_rest(const PreparedSweep& sweep, const SweepTarget& target, record::Journal& journal,
                  record::RunRecord& record, SweepOutcome& outcome) {
  outcome.peaks = limits_of_machine(sweep, target);
  if (sweep.settings.crew != nullptr && sweep.settings.crew->size() > 1) {
    outcome.peaks.link = sweep.settings.crew->measure_link();
  }
  // Before anything stands in the folder that would have to be continued with half the limits.
  if (stop_signal() != 0) return;
  record.begin(outcome.peaks);
  Progress progress;
  Recording recording(journal, progress);
  Settings settings = sweep.settings;
  settings.peaks = outcome.peaks;
  outcome.results = run_plan(sweep.plan, settings, recording);
  outcome.cautions =
      judge::cautions_after(outcome.results, record.stolen_share().value_or(0), outcome.peaks);
  record.finish(outcome.cautions);
}

}  // namespace

double PreparedSweep::seconds(const plan::Limits& limits) const {
  return seconds_to_measure_peaks(plan, limits_of) +
         plan::plan_seconds(plan, settings.timing, plan::Estimator(), limits);
}

ordered_json PreparedSweep::environment(const std::vector<std::string>& warnings) const {
  ordered_json environment = record::describe_environment(plan.target, usage);
  if (!settings.usage) say_ranks_use(environment);
  const plan::TimingPlan& timing = settings.timing;
  environment["sweep"] = {
      {"cells", plan.cell_count()},
      {"repetitions", timing.repetitions},
      {"repetitions_asked", repetitions_asked},
      {"processes", timing.processes},
      {"min_time_s", timing.min_time},
      {"cache", to_string(timing.cold ? plan::CacheState::cold : plan::CacheState::warm)},
      {"seed", settings.seed},
      {"memory_limit_bytes", settings.memory_limit},
      {"memory_asked_bytes", or_null(memory_asked)},
      {"budget_s", or_null(settings.budget)},
      {"timeout_s", or_null(settings.timeout)},
      {"identity", to_json(identity)}};
  const ordered_json weights = record::describe_weights(plan);
  if (!weights.is_null()) environment["sweep"]["weights"] = weights;
  environment["warnings"] = warnings;
  return environment;
}

PreparedSweep prepare_sweep(const SweepRequest& request) {
  PreparedSweep sweep;
  sweep.settings = settings_of(request);
  sweep.repetitions_asked = sweep.settings.timing.repetitions;
  sweep.memory_asked = request.max_memory;
  sweep.plan = plan::expand(request.axes, {request.seed, request.allow_many, request.ranks_here});
  if (request.crew != nullptr) require_cores(*request.crew, sweep.plan);
  if (!request.only.empty()) plan::keep_cells(sweep.plan, "--only", request.only);
  sweep.identity = record::identity_of(request.axes, sweep.plan, request.shard);
  if (request.shard) plan::keep_shard(sweep.plan, *request.shard);
  plan::TimingPlan& timing = sweep.settings.timing;
  if (request.limits_of != nullptr) timing.beside = plan::control_seconds(sweep.plan);
  if (request.budget) {
    plan::fit_budget(sweep.plan, timing, *request.budget, plan::Estimator());
  }
  sweep.limits_of = request.limits_of;
  sweep.usage = request.usage;
  if (sweep.limits_of != nullptr) sweep.settings.kernels = sweep.limits_of(sweep.plan.target);
  return sweep;
}

SweepOutcome run_sweep(PreparedSweep sweep, const SweepTarget& target) {
  using Start = record::Journal::Start;
  install_signal_handlers();
  SweepOutcome outcome;
  outcome.cells = sweep.plan.cell_count();
  const std::vector<std::string> warnings = warnings_of(sweep.plan);
  for (const std::string& warning : warnings) target.warn(warning);
  const ordered_json environment = sweep.environment(warnings);
  record::Journal journal(target.folder, target.resume ? Start::go_on : Start::fresh);
  record::Continuation before;
  if (target.resume) before = record::continue_sweep(sweep.plan, environment, journal);
  for (const std::string& note : before.notes) target.note(note);
  record::RunRecord record(journal, environment, before);
  if (sweep.plan.cell_count() > 0 || !before.found) {
    measure_rest(sweep, target, journal, record, outcome);
  }
  join(outcome.results, std::move(before.kept));
  return outcome;
}

}  // namespace headroom::measure
