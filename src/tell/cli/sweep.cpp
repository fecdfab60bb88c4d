#include "measure/sweep.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/computed.hpp"
#include "cli/line/output.hpp"
#include "cli/sweep_end.hpp"
#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "plan/axes_options.hpp"
#include "plan/expand.hpp"
#include "plan/timing_plan.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "show/machine_words.hpp"
#include "show/plan_table.hpp"
#include "show/rank_tables.hpp"
#include "show/results_table.hpp"

namespace headroom::cli {
namespace {

struct SweepOptions {
  plan::AxesOptions axes;
  std::string out_folder = "headroom-results";
  std::optional<std::string> max_memory, budget, repetitions, processes, min_time, seed, shard,
      timeout, only;
  std::string cache = "warm";
  bool dry_run = false;
  bool resume = false;
  bool yes = false;
};

constexpr int kMaxProcesses = 100;

plan::CacheState parse_cache(const std::string& text) {
  const auto cache = plan::parse_cache_state(text);
  if (!cache) {
    throw InvalidArgument(
        fmt::format("--cache: unknown state '{}'; {}", text, suggest(text, {"warm", "cold"})));
  }
  return *cache;
}

measure::SweepRequest request_of(const SweepOptions& options, machine::LimitKernelsOf limits_of,
                                 measure::Crew* crew) {
  measure::SweepRequest request;
  request.axes = options.axes.values();
  request.allow_many = options.yes;
  request.limits_of = limits_of;
  request.cache = parse_cache(options.cache);
  if (options.repetitions) {
    request.repetitions = parse_count("--repetitions", *options.repetitions, plan::kMaxRepetitions);
  }
  if (options.processes) {
    request.processes = parse_count("--processes", *options.processes, kMaxProcesses);
  }
  if (options.min_time) request.min_time = parse_seconds("--min-time", *options.min_time);
  if (options.seed) request.seed = parse_seed(*options.seed);
  if (options.budget) request.budget = parse_duration("--budget", *options.budget);
  if (options.timeout) request.timeout = parse_duration("--timeout", *options.timeout);
  if (options.max_memory) request.max_memory = parse_bytes("--max-memory", *options.max_memory);
  // Nothing is measured, so nothing needs to be started.
  request.ranks_here = options.dry_run ? plan::kMaxRanks : crew != nullptr ? crew->size() : 1;
  request.crew = crew;
  if (options.only) request.only = plan::split_names("--only", *options.only);
  if (options.shard) request.shard = plan::parse_shard("--shard", *options.shard);
  return request;
}

// Of what is on disk, which is what `report` and `compare` will see.
void print_end(const measure::SweepOutcome& outcome, const std::string& folder) {
  if (outcome.results.empty()) return;
  const record::ResultsFolder results = record::read_results_folder(folder);
  out().print("\n{}\n{}", answers_of(results), changes_since_the_last(results));
}

// `whole`: no shard, which cannot say what other shards found.
void print_summary(const measure::SweepOutcome& outcome, const std::string& folder, bool whole) {
  std::size_t counts[5] = {};
  for (const auto& result : outcome.results) ++counts[static_cast<int>(result.status)];
  out().write(show::results_table(outcome.results, outcome.peaks));
  out().write(show::rank_tables(outcome.results, outcome.peaks));
  out().print("\n");
  for (const auto& entry : outcome.peaks.fma_gflops) {
    const int threads = entry.first;
    const auto read = outcome.peaks.read_gbs.find(threads);
    if (read != outcome.peaks.read_gbs.end()) {
      out().print("measured memory read, {}: {:.1f} GB/s\n", counted(threads, "thread"),
                  read->second);
    }
    out().print("measured FMA peak ({}), {}: {}\n", to_string(outcome.peaks.target.isa),
                counted(threads, "thread"), show::fma_peak_words(outcome.peaks, threads));
    for (const std::string& line : show::product_peak_lines(outcome.peaks, threads)) {
      out().print("measured products from the L1, {}: {}\n", counted(threads, "thread"), line);
    }
  }
  out().write(show::noise_lines(outcome.results));
  if (whole) print_end(outcome, folder);
  out().print(
      "{} of {} cells: {} ok, {} unsupported, {} skipped, {} failed, {} crashed; results in {}\n",
      outcome.results.size(), outcome.cells, counts[0], counts[1], counts[2], counts[3], counts[4],
      shown_text(folder));
}

void print_plan(const measure::PreparedSweep& sweep) {
  plan::Limits limits;
  limits.memory_bytes = sweep.settings.memory_limit;
  limits.cell_seconds = sweep.settings.timing.cell_limit;
  for (const std::string& warning : sweep.plan.warnings) complain("warning", warning);
  out().write(show::plan_table(sweep.plan, sweep.settings.timing, plan::Estimator(), limits,
                               sweep.seconds(limits)));
}

int run(const SweepOptions& options, machine::LimitKernelsOf limits_of, measure::Crew* crew) {
  const auto warn = [](const std::string& text) { complain("warning", text); };
  const auto note = [](const std::string& text) { complain("note", text); };
  const measure::PreparedSweep sweep = measure::prepare_sweep(request_of(options, limits_of, crew));
  for (const std::string& text : sweep.plan.notes) note(text);
  if (options.dry_run) {
    print_plan(sweep);
    return kDone;
  }
  const measure::SweepOutcome outcome =
      measure::run_sweep(sweep, {options.out_folder, options.resume, warn, note});
  print_summary(outcome, options.out_folder, !options.shard);
  for (const std::string& caution : outcome.cautions) warn(caution);
  return end_of(outcome.results, options.shard.has_value());
}

}  // namespace

Command add_sweep(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank) {
  CLI::App* command = app.add_subcommand("sweep", "check and measure every cell of the axes");
  const auto options = std::make_shared<SweepOptions>();
  options->axes.add_to(*command);
  add_value(*command, "--out", options->out_folder, "FOLDER",
            "folder for the results (default headroom-results)");
  command->add_flag("--resume", options->resume,
                    "measure only the cells that --out lacks; crashed cells are tried again, those "
                    "that are ok, unsupported, skipped or failed are not");
  add_value(*command, "--shard", options->shard, "I/N",
            "measure part I of N, such as 1/8; headroom merge joins the parts");
  add_value(*command, "--only", options->only, "IDS",
            "measure only the cells of the axes with these ids, separated by commas");
  command->add_flag("--dry-run", options->dry_run,
                    "print the cells with their memory and estimated time, and measure nothing");
  add_value(*command, "--budget", options->budget, "TIME",
            "time for the whole sweep, such as 10m: fewer repetitions, then fewer cells");
  add_value(*command, "--max-memory", options->max_memory, "SIZE",
            "maximum memory to use, such as 16GiB (default: what the machine has free)");
  add_value(*command, "--repetitions", options->repetitions, "N", "samples per cell (default 16)");
  add_value(*command, "--processes", options->processes, "N",
            "processes that take these samples one after the other, because speed "
            "differs from launch to launch (default 8)");
  add_value(*command, "--min-time", options->min_time, "SECONDS",
            "minimum seconds per sample (default 0.03)");
  add_value(*command, "--cache", options->cache, "warm|cold",
            "warm: passes run back to back; cold: caches are emptied before each pass "
            "(default warm)");
  add_value(*command, "--timeout", options->timeout, "TIME",
            "end a process that stays silent for this long plus ten times what its current pass "
            "should take (default 5m)");
  add_value(*command, "--seed", options->seed, "N", "seed of weights and inputs (default 1)");
  command->add_flag("--yes", options->yes,
                    fmt::format("allow more than {} cells", plan::kMaxCells));
  add_examples(*command,
               "  headroom sweep                              the preset quick, every backend\n"
               "  headroom sweep --model gpt2 --tokens 1,128,1024 --threads 1,8 --out gpt2\n"
               "  headroom sweep --heads 1-96*2 --head-dim 64 --budget 10m\n"
               "  headroom sweep @my-axes.txt                 options from a file, one a line\n"
               "  headroom sweep --out gpt2 --resume          goes on after an interruption");
  return {command, [options, limits_of, run_as_rank] {
            return with_ranks(options->axes.given("ranks"), run_as_rank,
                              [&](measure::Crew* crew) { return run(*options, limits_of, crew); });
          }};
}

}  // namespace headroom::cli
