#include "tune/tune.hpp"

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/environment_variable.hpp"
#include "core/text/shown.hpp"
#include "headroom/isa.hpp"
#include "measure/progress.hpp"
#include "plan/axes.hpp"
#include "processor/cores.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "tune/words.hpp"

namespace headroom::cli {
namespace {

constexpr const char* kDefaultFile = "headroom-tuning.json";

struct TuneOptions {
  std::optional<std::string> output, threads, isa, min_time;
};

std::string path_of(const TuneOptions& options) {
  if (options.output) return *options.output;
  const std::string named = environment("HEADROOM_TUNING");
  return named.empty() ? kDefaultFile : named;
}

int run(const TuneOptions& options, machine::LimitKernelsOf limits_of) {
  tune::TuneSettings settings;
  plan::Axes axes;
  if (options.isa) axes.isa = *options.isa;
  if (options.threads) axes.threads = *options.threads;
  settings.isa = select_isa(axes.isa.first());
  settings.measure = measure::settings_for({settings.isa}, limits_of);
  settings.threads = axes.threads.values_or(
      allowed_cores() > 1 ? std::vector<int>{1, allowed_cores()} : std::vector<int>{1});
  settings.shapes = tune::default_shapes();
  settings.rows = tune::default_rows();
  if (options.min_time)
    settings.measure.timing.min_time = parse_seconds("--min-time", *options.min_time);
  const std::string path = path_of(options);
  // What cannot be kept or written is an error at once, and not after the measuring.
  require_writable(path, tune::tuning_text(path, {}, settings.isa));
  install_signal_handlers();
  measure::Progress progress;
  const std::vector<tune::Tuned> tuned = tune::tune_kernels(settings, progress);
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  out().print("{}", tune::to_text(tuned, settings.shapes));
  write_file(path, tune::tuning_text(path, tuned, settings.isa));
  out().print("Written to {0}; layers read it with HEADROOM_TUNING={0}\n", shown_text(path));
  return kDone;
}

}  // namespace

Command add_tune(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command = app.add_subcommand(
      "tune", "measure the variants of the kernels and write the fastest into a tuning file");
  const auto options = std::make_shared<TuneOptions>();
  add_value(*command, "--output", options->output, "FILE",
            "tuning file to write or to add to (default: the one that HEADROOM_TUNING "
            "names, or else headroom-tuning.json)");
  add_value(*command, "--threads", options->threads, "LIST",
            "numbers of threads (default: 1 and every allowed core)");
  add_value(*command, "--min-time", options->min_time, "SECONDS",
            "seconds per sample (default: 0.03)");
  add_value(*command, "--isa", options->isa, "NAME",
            "instruction set (default: the best available)");
  add_examples(
      *command,
      "  headroom tune --output tuning.json          then set HEADROOM_TUNING=tuning.json");
  return {command, [options, limits_of] { return run(*options, limits_of); }};
}

}  // namespace headroom::cli
