#include "run/run.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/computed.hpp"
#include "cli/line/output.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "measure/progress.hpp"
#include "plan/axes_options.hpp"
#include "plan/timing_plan.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "record/environment.hpp"
#include "record/result.hpp"
#include "show/results_table.hpp"
#include "show/weights_list.hpp"
#include "show/weights_words.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;
using record::CellResult;
using record::Status;

struct RunOptions {
  plan::AxesOptions axes;
  std::optional<std::string> input, output, repetitions, seed, max_memory;
  bool list = false;
  bool check = false;
  bool json = false;
};

run::RunRequest request_of(const RunOptions& options, machine::LimitKernelsOf limits_of) {
  run::RunRequest request;
  request.axes = options.axes.values();
  if (!request.axes.backend) request.axes.backend = std::string(kAuto);
  if (options.input) request.input = *options.input;
  if (options.output) request.output = *options.output;
  request.check = options.check;
  if (options.repetitions) {
    if (!options.check) {
      throw InvalidArgument(
          "--repetitions: without --check nothing is timed; add --check, or leave it out");
    }
    request.repetitions = parse_count("--repetitions", *options.repetitions, plan::kMaxRepetitions);
  }
  if (options.seed) request.seed = parse_seed(*options.seed);
  if (options.max_memory) request.max_memory = parse_bytes("--max-memory", *options.max_memory);
  request.limits_of = limits_of;
  return request;
}

void print_source(const run::PreparedRun& run, const RunOptions& options) {
  if (run.group().weights == nullptr) {
    out().print("weights: random, seed {}; --weights takes a file\n", run.settings.seed);
  }
  if (!options.input) {
    out().print("input: random, seed {}; --input takes a .npy file\n", run.settings.seed);
  }
}

void print_unchecked(const run::PreparedRun& run, const std::vector<CellResult>& results) {
  const Case& shape = run.group().shape;
  out().print("{}  {:.3g} GFLOP, {}\n", shape.id(), shape.flops().total() * 1e-9,
              show::weights_words(shape, run.group().stored(), std::nullopt, std::nullopt));
  for (const CellResult& result : results) {
    const plan::Cell& cell = result.cell;
    const std::string who = cell.chosen.empty() ? cell.backend : cell.backend + "=" + cell.chosen;
    out().print("  {:<12} {:<8} {}\n", who, result.way(),
                result.status == Status::ok
                    ? fmt::format("{}, {} packed, not checked", counted(result.threads, "thread"),
                                  format_bytes(result.costs->packed_bytes))
                    : fmt::format("{}: {}", record::to_string(result.status), result.reason));
  }
}

void print_checked(const std::vector<CellResult>& results) {
  out().write(show::results_table(results));
  for (const CellResult& result : results) {
    if (!result.choice) continue;
    out().print("{}: auto is {}: {}\n", result.way(), result.choice->backend,
                result.choice->reason);
  }
  out().write(show::noise_lines(results));
}

ordered_json to_json(const run::PreparedRun& run, const run::RunOutcome& outcome,
                     const RunOptions& options) {
  ordered_json weights = record::describe_weights(run.plan);
  if (!weights.is_null()) weights.erase("input");
  const auto or_null = [](const auto& text) {
    return text ? ordered_json(*text) : ordered_json(nullptr);
  };
  ordered_json json{{"schema", "headroom.run/2"},
                    {"weights", weights},
                    {"notes", run.plan.notes},
                    {"warnings", run.plan.warnings},
                    {"shape", headroom::to_json(run.group().shape)},
                    {"input", or_null(options.input)},
                    {"output", or_null(options.output)},
                    {"rivals", ordered_json::array()}};
  for (const CellResult& result : outcome.results) {
    json["rivals"].push_back(record::to_json(result));
    json["rivals"].back()["is_output"] = false;
  }
  if (outcome.wrote) json["rivals"][outcome.writer]["is_output"] = true;
  return json;
}

int list(const RunOptions& options) {
  weights::TensorSet set(options.axes.values().weights.text());
  if (options.json) {
    out().print("{}\n", to_text(show::weights_json(set), 2));
  } else {
    out().write(show::weights_list(set));
  }
  return kDone;
}

int run_command(const RunOptions& options, machine::LimitKernelsOf limits_of) {
  const bool has_weights = options.axes.given("weights");
  if (!has_weights && (options.list || !options.axes.given("config"))) {
    throw InvalidArgument(
        "run needs weights: --weights FILE; --list shows what a file holds. With --config FILE "
        "alone they are random");
  }
  if (options.list) return list(options);
  install_signal_handlers();
  run::PreparedRun run = run::prepare_run(request_of(options, limits_of));
  for (const std::string& note : run.plan.notes) complain("note", note);
  for (const std::string& warning : run.plan.warnings) complain("warning", warning);
  measure::Progress progress;
  const run::RunOutcome outcome = run::run_rivals(run, progress);
  if (options.json) {
    out().print("{}\n", to_text(to_json(run, outcome, options), 2));
    return end_of(outcome.results);
  }
  print_source(run, options);
  run.checks ? print_checked(outcome.results) : print_unchecked(run, outcome.results);
  if (outcome.wrote) out().print("wrote {}\n", shown_text(*options.output));
  return end_of(outcome.results);
}

}  // namespace

Command add_run(CLI::App& app, machine::LimitKernelsOf limits_of) {
  CLI::App* command = app.add_subcommand("run", "run a layer on your own weights and input");
  const auto options = std::make_shared<RunOptions>();
  options->axes.add_to(*command, plan::AxesOptions::Which::layers);
  add_value(*command, "--input", options->input, "FILE",
            ".npy file of (tokens, width) or (batch, tokens, width) (default: random)");
  add_value(*command, "--output", options->output, "FILE",
            ".npy file for the result; with several rivals, that of the first");
  command->add_flag("--list", options->list,
                    "print what --weights holds and which layers it has, and run nothing");
  command->add_flag("--check", options->check,
                    "compare every result with the oracle's, and time those that are right");
  add_value(*command, "--repetitions", options->repetitions, "N",
            "with --check: samples per rival (default 16)");
  add_value(*command, "--seed", options->seed, "N", "seed of random weights and input (default 1)");
  add_value(*command, "--max-memory", options->max_memory, "SIZE",
            "maximum memory to use, such as 16GiB (default: what the machine has free)");
  command->add_flag("--json", options->json, "print JSON");
  add_examples(
      *command,
      "  headroom run --weights model.safetensors --list\n"
      "  headroom run --weights model.safetensors --layer 0 --input x.npy --output y.npy --check\n"
      "  headroom run --config config.json --layer 0 --tokens 128 --check");
  return {command, [options, limits_of] { return run_command(*options, limits_of); }};
}

}  // namespace headroom::cli
