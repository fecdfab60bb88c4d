#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "headroom/error.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/journal.hpp"
#include "sweep/numbers.hpp"
#include "sweep/table.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;
using sweep::Status;

struct SweepOptions {
  sweep::Axes axes;
  std::string out_folder = "headroom-results";
  std::optional<std::string> max_memory, budget, repetitions, min_time, seed;
  bool dry_run = false;
  bool yes = false;
};

constexpr std::int64_t kMaxRepetitions = 10'000;

sweep::SweepSettings settings_of(const SweepOptions& options) {
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
  std::optional<std::int64_t> memory;
  if (options.max_memory) memory = sweep::parse_bytes("--max-memory", *options.max_memory);
  settings.memory_limit = sweep::usable_memory(memory);
  return settings;
}

ordered_json environment_of(const sweep::Plan& plan, const sweep::SweepSettings& settings,
                            const sweep::Peaks& peaks) {
  ordered_json environment = sweep::describe_environment(plan.isa);
  environment["peaks"] = sweep::to_json(peaks);
  environment["sweep"] = {
      {"cells", plan.cell_count()},
      {"repetitions", settings.timing.repetitions},
      {"min_time_s", settings.timing.min_time},
      {"seed", settings.seed},
      {"memory_limit_bytes", settings.memory_limit},
      {"budget_s", settings.budget ? ordered_json(*settings.budget) : ordered_json(nullptr)}};
  environment["warnings"] = plan.warnings;
  return environment;
}

void print_summary(const std::vector<sweep::CellResult>& results, const sweep::Plan& plan,
                   const sweep::Peaks& peaks, const std::string& folder) {
  std::size_t counts[5] = {};
  for (const sweep::CellResult& result : results) ++counts[static_cast<int>(result.status)];
  out().write(sweep::results_table(results));
  out().print("\n");
  for (const auto& [threads, gflops] : peaks.fma_gflops) {
    const auto read = peaks.read_gbs.find(threads);
    if (read != peaks.read_gbs.end()) {
      out().print("measured memory read, {} thread{}: {:.1f} GB/s\n", threads,
                  threads == 1 ? "" : "s", read->second);
    }
    out().print("measured FMA peak, {} thread{}: {:.1f} GFLOP/s ({})\n", threads,
                threads == 1 ? "" : "s", gflops, to_string(peaks.isa));
  }
  out().write(sweep::noise_lines(results));
  out().print(
      "{} of {} cells: {} ok, {} unsupported, {} skipped, {} failed, {} crashed; results in {}\n",
      results.size(), plan.cell_count(), counts[0], counts[1], counts[2], counts[3], counts[4],
      folder);
}

int exit_code_of(const std::vector<sweep::CellResult>& results) {
  if (sweep::stop_signal() != 0) return sweep::kSignalBase + sweep::stop_signal();
  for (const sweep::CellResult& result : results) {
    if (result.status == Status::failed) return sweep::kCheckFailed;
  }
  return sweep::kDone;
}

int run(const SweepOptions& options, machine::LimitKernelsOf limits_of) {
  sweep::SweepSettings settings = settings_of(options);
  sweep::Plan plan = sweep::expand(options.axes, {settings.seed, options.yes});
  const sweep::Estimator estimator;
  sweep::fit_budget(plan, settings, estimator);
  for (const std::string& note : plan.notes) complain("note", note);
  for (const std::string& warning : plan.warnings) complain("warning", warning);
  if (options.dry_run) {
    out().write(sweep::plan_table(plan, settings.timing, estimator, settings.memory_limit,
                                  settings.budget.has_value()));
    return sweep::kDone;
  }
  sweep::install_signal_handlers();
  sweep::Journal journal(options.out_folder);
  const sweep::Peaks peaks = sweep::measure_peaks(plan, limits_of);
  if (limits_of != nullptr) settings.control = limits_of(plan.isa).fma;
  journal.write_environment(environment_of(plan, settings, peaks));
  std::vector<sweep::CellResult> results;
  {
    sweep::Progress progress(stderr, isatty(STDERR_FILENO) != 0, plan.cell_count());
    results = sweep::run_sweep(plan, settings, peaks, journal, progress);
  }
  print_summary(results, plan, peaks, options.out_folder);
  return exit_code_of(results);
}

}  // namespace

Command add_sweep(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command = app.add_subcommand("sweep", "check and measure every cell of the axes");
  const auto options = std::make_shared<SweepOptions>();
  sweep::add_axes_options(*command, options->axes);
  command->add_option("--out", options->out_folder,
                      "folder for the results (default headroom-results)");
  command->add_flag("--dry-run", options->dry_run, "only print cells, memory and estimated time");
  command->add_option("--budget", options->budget,
                      "time for the whole sweep, such as 10m: fewer repetitions, then fewer cells");
  command->add_option("--max-memory", options->max_memory,
                      "memory to use at most, such as 16GiB (default: what the machine has left)");
  command->add_option("--repetitions", options->repetitions, "samples a cell (default 9)");
  command->add_option("--min-time", options->min_time,
                      "seconds that a sample lasts at least (default 0.05)");
  command->add_option("--seed", options->seed, "seed of weights and inputs (default 1)");
  command->add_flag("--yes", options->yes,
                    fmt::format("allow more than {} cells", sweep::kMaxCells));
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
