#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "sweep/cautions.hpp"
#include "sweep/continuation.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/identity.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/journal.hpp"
#include "sweep/numbers.hpp"
#include "sweep/run_record.hpp"
#include "sweep/table.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;

struct SweepOptions {
  sweep::Axes axes;
  std::string out_folder = "headroom-results";
  std::optional<std::string> max_memory, budget, repetitions, min_time, seed, shard, timeout;
  std::string cache = "warm";
  bool dry_run = false;
  bool resume = false;
  bool yes = false;
};

constexpr std::int64_t kMaxRepetitions = 10'000;

// With what each sample will be surrounded.
void set_surroundings(const SweepOptions& options, machine::LimitKernelsOf limits_of,
                      sweep::SweepSettings& settings) {
  const auto cache = sweep::parse_cache_state(options.cache);
  if (!cache) {
    throw InvalidArgument(fmt::format("--cache: unknown state '{}'; {}", options.cache,
                                      suggest(options.cache, {"warm", "cold"})));
  }
  settings.timing.cold = *cache == sweep::CacheState::cold;
  if (limits_of != nullptr) settings.timing.beside = sweep::kControlSeconds;
  if (!settings.timing.cold) return;
  if (limits_of == nullptr) {
    throw Unavailable(
        "--cache cold empties the caches with a SIMD kernel, and this build has none; "
        "build it with xsimd, or measure with --cache warm");
  }
  settings.timing.beside += sweep::seconds_to_empty_caches();
}

sweep::SweepSettings settings_of(const SweepOptions& options, machine::LimitKernelsOf limits_of) {
  sweep::SweepSettings settings;
  if (options.repetitions) {
    const std::int64_t count = sweep::parse_number("--repetitions", *options.repetitions);
    if (count > kMaxRepetitions) {
      throw InvalidArgument(fmt::format("--repetitions: {} is too many; allowed is up to {}", count,
                                        kMaxRepetitions));
    }
    settings.timing.repetitions = static_cast<int>(count);
  }
  if (options.min_time) {
    settings.timing.min_time = sweep::parse_duration("--min-time", *options.min_time);
  }
  if (options.seed) {
    settings.seed = static_cast<std::uint64_t>(sweep::parse_number("--seed", *options.seed, 0));
  }
  if (options.budget) settings.budget = sweep::parse_duration("--budget", *options.budget);
  if (options.timeout) settings.timeout = sweep::parse_duration("--timeout", *options.timeout);
  std::optional<std::int64_t> memory;
  if (options.max_memory) memory = sweep::parse_bytes("--max-memory", *options.max_memory);
  settings.memory_limit = sweep::usable_memory(memory);
  set_surroundings(options, limits_of, settings);
  return settings;
}

// A plan with what it takes to recognise it.
struct Job {
  sweep::Plan plan;
  sweep::SweepSettings settings;
  sweep::SweepIdentity identity;
  int repetitions_asked = 0;
};

Job job_of(const SweepOptions& options, machine::LimitKernelsOf limits_of) {
  Job job;
  job.settings = settings_of(options, limits_of);
  job.repetitions_asked = job.settings.timing.repetitions;
  job.plan = sweep::expand(options.axes, {job.settings.seed, options.yes});
  std::optional<sweep::Shard> shard;
  if (options.shard) shard = sweep::parse_shard("--shard", *options.shard);
  job.identity = sweep::identity_of(options.axes, job.plan, shard);
  if (shard) sweep::keep_shard(job.plan, *shard);
  sweep::fit_budget(job.plan, job.settings, sweep::Estimator());
  if (limits_of != nullptr) {
    const machine::LimitKernels kernels = limits_of(job.plan.isa);
    job.settings.control = kernels.fma;
    job.settings.reader = kernels.read;
  }
  return job;
}

// Everything but the peaks, which take a while to measure.
ordered_json environment_of(const Job& job, const std::vector<std::string>& warnings) {
  const sweep::SweepSettings& settings = job.settings;
  ordered_json environment = sweep::describe_environment(job.plan.isa);
  environment["sweep"] = {
      {"cells", job.plan.cell_count()},
      {"repetitions", settings.timing.repetitions},
      {"repetitions_asked", job.repetitions_asked},
      {"min_time_s", settings.timing.min_time},
      {"cache",
       to_string(settings.timing.cold ? sweep::CacheState::cold : sweep::CacheState::warm)},
      {"seed", settings.seed},
      {"memory_limit_bytes", settings.memory_limit},
      {"budget_s", settings.budget ? ordered_json(*settings.budget) : ordered_json(nullptr)},
      {"identity", sweep::to_json(job.identity)}};
  environment["warnings"] = warnings;
  return environment;
}

void print_summary(const std::vector<sweep::CellResult>& results, std::size_t cells,
                   const sweep::Peaks& peaks, const std::string& folder) {
  std::size_t counts[5] = {};
  for (const sweep::CellResult& result : results) ++counts[static_cast<int>(result.status)];
  out().write(sweep::results_table(results));
  out().print("\n");
  for (const auto& [threads, gflops] : peaks.fma_gflops) {
    const auto read = peaks.read_gbs.find(threads);
    if (read != peaks.read_gbs.end()) {
      out().print("measured memory read, {}: {:.1f} GB/s\n", sweep::counted(threads, "thread"),
                  read->second);
    }
    out().print("measured FMA peak, {}: {:.1f} GFLOP/s ({})\n", sweep::counted(threads, "thread"),
                gflops, to_string(peaks.isa));
  }
  out().write(sweep::noise_lines(results));
  out().print(
      "{} of {} cells: {} ok, {} unsupported, {} skipped, {} failed, {} crashed; results in {}\n",
      results.size(), cells, counts[0], counts[1], counts[2], counts[3], counts[4], folder);
}

int exit_code_of(const std::vector<sweep::CellResult>& results) {
  if (sweep::stop_signal() != 0) return sweep::kSignalBase + sweep::stop_signal();
  for (const sweep::CellResult& result : results) {
    if (sweep::is_broken(result.status)) return sweep::kCheckFailed;
  }
  return sweep::kDone;
}

// What was kept and what is new, each shape in one piece.
void join(std::vector<sweep::CellResult>& results, std::vector<sweep::CellResult> kept) {
  std::map<std::string, std::size_t> places;
  results.insert(results.begin(), std::make_move_iterator(kept.begin()),
                 std::make_move_iterator(kept.end()));
  for (const auto& result : results) places.try_emplace(result.shape.id(), places.size());
  std::stable_sort(results.begin(), results.end(), [&](const auto& a, const auto& b) {
    return places.at(a.shape.id()) < places.at(b.shape.id());
  });
}

std::vector<std::string> warnings_of(const Job& job) {
  std::vector<std::string> warnings = job.plan.warnings;
  for (std::string& caution :
       sweep::cautions_before(machine::current_conditions(), sweep::is_release_build())) {
    warnings.push_back(std::move(caution));
  }
  return warnings;
}

int measure(Job& job, const SweepOptions& options, machine::LimitKernelsOf limits_of) {
  using Start = sweep::Journal::Start;
  sweep::install_signal_handlers();
  const std::size_t cells = job.plan.cell_count();
  const std::vector<std::string> warnings = warnings_of(job);
  for (const std::string& warning : warnings) complain("warning", warning);
  const ordered_json environment = environment_of(job, warnings);
  sweep::Journal journal(options.out_folder, options.resume ? Start::go_on : Start::fresh);
  sweep::Continuation before;
  if (options.resume) before = sweep::continue_sweep(job.plan, environment, journal);
  for (const std::string& note : before.notes) complain("note", note);
  sweep::RunRecord record(journal, environment, before);
  std::vector<std::string> cautions;
  sweep::Peaks peaks;
  std::vector<sweep::CellResult> results;
  if (job.plan.cell_count() > 0 || !before.found) {
    peaks = sweep::measure_peaks(job.plan, limits_of);
    record.begin(peaks);
    sweep::Progress progress(stderr, isatty(STDERR_FILENO) != 0, job.plan.cell_count());
    results = sweep::run_sweep(job.plan, job.settings, peaks, journal, progress);
    cautions = sweep::cautions_after(results, record.stolen_share().value_or(0));
    record.finish(cautions);
  }
  join(results, std::move(before.kept));
  print_summary(results, cells, peaks, options.out_folder);
  for (const std::string& caution : cautions) complain("warning", caution);
  return exit_code_of(results);
}

int run(const SweepOptions& options, machine::LimitKernelsOf limits_of) {
  Job job = job_of(options, limits_of);
  for (const std::string& note : job.plan.notes) complain("note", note);
  if (!options.dry_run) return measure(job, options, limits_of);
  for (const std::string& warning : job.plan.warnings) complain("warning", warning);
  out().write(sweep::plan_table(job.plan, job.settings.timing, sweep::Estimator(),
                                job.settings.memory_limit, job.settings.budget.has_value()));
  return sweep::kDone;
}

}  // namespace

Command add_sweep(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command = app.add_subcommand("sweep", "check and measure every cell of the axes");
  const auto options = std::make_shared<SweepOptions>();
  sweep::add_axes_options(*command, options->axes);
  command->add_option("--out", options->out_folder,
                      "folder for the results (default headroom-results)");
  command->add_flag("--resume", options->resume,
                    "measure only what --out lacks; cells that crashed are tried again, those "
                    "that are ok, unsupported, skipped or failed are done");
  command->add_option("--shard", options->shard,
                      "measure part I of N, such as 1/8; headroom merge joins the parts");
  command->add_flag("--dry-run", options->dry_run, "only print cells, memory and estimated time");
  command->add_option("--budget", options->budget,
                      "time for the whole sweep, such as 10m: fewer repetitions, then fewer cells");
  command->add_option("--max-memory", options->max_memory,
                      "memory to use at most, such as 16GiB (default: what the machine has left)");
  command->add_option("--repetitions", options->repetitions, "samples a cell (default 9)");
  command->add_option("--min-time", options->min_time,
                      "seconds that a sample lasts at least (default 0.05)");
  command->add_option("--cache", options->cache,
                      "warm: passes follow each other; cold: caches are emptied before each pass "
                      "(default warm)");
  command->add_option("--timeout", options->timeout,
                      "end a process that gives no sign for this long (default: 5m and ten times "
                      "what its cells should take)");
  command->add_option("--seed", options->seed, "seed of weights and inputs (default 1)");
  command->add_flag("--yes", options->yes,
                    fmt::format("allow more than {} cells", sweep::kMaxCells));
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
