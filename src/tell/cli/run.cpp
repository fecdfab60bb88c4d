#include "run/run.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "plan/axes_options.hpp"
#include "plan/timing_plan.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "record/environment.hpp"
#include "record/result.hpp"
#include "reference/comparator.hpp"
#include "show/weights_list.hpp"
#include "show/weights_words.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;
using record::Status;
using run::RivalOutcome;

struct RunOptions {
  plan::AxesOptions axes;
  std::optional<std::string> input, output, repetitions, seed, max_memory;
  bool list = false;
  bool check = false;
  bool json = false;
};

run::RunRequest request_of(const RunOptions& options) {
  run::RunRequest request;
  request.axes = options.axes.values();
  if (!request.axes.backend) request.axes.backend = std::string(kAuto);
  if (options.input) request.input = *options.input;
  if (options.output) request.output = *options.output;
  request.check = options.check;
  if (options.repetitions) {
    const std::int64_t count = parse_number("--repetitions", *options.repetitions);
    if (count > plan::kMaxRepetitions) {
      throw InvalidArgument(fmt::format("--repetitions: {} is too many; the limit is {}", count,
                                        plan::kMaxRepetitions));
    }
    request.repetitions = static_cast<int>(count);
  }
  if (options.seed) {
    request.seed = static_cast<std::uint64_t>(parse_number("--seed", *options.seed, 0));
  }
  if (options.max_memory) request.max_memory = parse_bytes("--max-memory", *options.max_memory);
  return request;
}

std::string error_words(const reference::Comparison& error) {
  return fmt::format("nrmse {:.1e}, worst element {:.2g} of its bound", error.nrmse,
                     error.bound_ratio);
}

void print_layer(const run::PreparedRun& run, const RunOptions& options) {
  const Case& shape = run.group().shape;
  out().print("{}  {:.3g} GFLOP, {}\n", shape.id(), shape.flops().total() * 1e-9,
              show::weights_words(shape, run.group().stored(), run.problem.storage_error,
                                  run.problem.attention_shift));
  if (run.weights() == nullptr) {
    out().print("weights: random, seed {}; --weights takes a file\n", options.seed.value_or("1"));
  }
  if (!options.input) {
    out().print("input: random, seed {}; --input takes a .npy file\n", options.seed.value_or("1"));
  }
  out().print("  {:<12} {:<8} {:>3} {:>10} {:>10}{}\n", "backend", "formul.", "thr", "time",
              "packed", options.check ? "  error" : "");
}

void print(const RivalOutcome& outcome, const RunOptions& options) {
  const plan::Cell& cell = outcome.cell;
  const std::string who = cell.chosen.empty() ? cell.backend : cell.backend + "=" + cell.chosen;
  std::string line = fmt::format("  {:<12} {:<8}", who, to_string(cell.formulation));
  if (outcome.status == Status::ok) {
    line += fmt::format(" {:>3} {:>10} {:>10}", outcome.options.threads,
                        outcome.time.samples.empty() ? "-" : format_seconds(outcome.time.median),
                        format_bytes(outcome.costs.packed_bytes));
  } else {
    line += fmt::format(" {}: {}", record::to_string(outcome.status), outcome.reason);
  }
  if (outcome.error) line += "  " + error_words(*outcome.error);
  out().print("{}\n", line);
  if (outcome.wrote) out().print("  wrote {}\n", shown_text(*options.output));
}

ordered_json to_json(const RivalOutcome& outcome) {
  const plan::Cell& cell = outcome.cell;
  ordered_json json{
      {"id", cell.id},
      {"backend", cell.runs()},
      {"formulation", to_string(cell.formulation)},
      {"status", record::to_string(outcome.status)},
      {"reason", outcome.reason.empty() ? ordered_json(nullptr) : ordered_json(outcome.reason)}};
  if (outcome.status != Status::ok && !outcome.error) return json;
  json["threads"] = outcome.options.threads;
  if (!outcome.time.samples.empty()) {
    json["time_s"] = {{"median", outcome.time.median},
                      {"min", outcome.time.min},
                      {"samples", outcome.time.samples}};
  }
  json["setup_s"] = outcome.costs.setup_seconds;
  json["packed_bytes"] = outcome.costs.packed_bytes;
  json["workspace_bytes"] = outcome.costs.workspace_bytes;
  if (outcome.error) {
    json["error"] = record::to_json(*outcome.error);
  }
  json["is_output"] = outcome.wrote;
  return json;
}

ordered_json to_json(const run::PreparedRun& run, const RunOptions& options) {
  ordered_json weights = record::describe_weights(run.plan);
  if (!weights.is_null()) weights.erase("input");
  const auto or_null = [](const auto& text) {
    return text ? ordered_json(*text) : ordered_json(nullptr);
  };
  ordered_json json{{"schema", "headroom.run/1"},
                    {"weights", weights},
                    {"notes", run.plan.notes},
                    {"warnings", run.plan.warnings},
                    {"shape", headroom::to_json(run.group().shape)},
                    {"input", or_null(options.input)},
                    {"output", or_null(options.output)}};
  if (run.problem.storage_error) json["storage_nrmse"] = *run.problem.storage_error;
  if (run.problem.attention_shift) {
    json["attention_shift"] = record::to_json(*run.problem.attention_shift);
  }
  return json;
}

int exit_code_of(const std::vector<RivalOutcome>& outcomes) {
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  bool any = false;
  for (const RivalOutcome& outcome : outcomes) {
    if (record::is_broken(outcome.status)) return kCheckFailed;
    any = any || outcome.status == Status::ok;
  }
  return any ? kDone : kNotAvailable;
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

int run_command(const RunOptions& options) {
  const bool has_weights = options.axes.given("weights");
  if (!has_weights && (options.list || !options.axes.given("config"))) {
    throw InvalidArgument(
        "run needs weights: --weights FILE; --list shows what a file holds. With --config FILE "
        "alone they are random");
  }
  if (options.list) return list(options);
  const run::RunRequest request = request_of(options);
  install_signal_handlers();
  run::PreparedRun run = run::prepare_run(request);
  for (const std::string& note : run.plan.notes) complain("note", note);
  for (const std::string& warning : run.plan.warnings) complain("warning", warning);
  ordered_json json = to_json(run, options);
  if (!options.json) print_layer(run, options);
  std::vector<RivalOutcome> outcomes;
  run::run_rivals(
      run, request,
      [&](const RivalOutcome& outcome) {
        outcomes.push_back(outcome);
        if (options.json) {
          json["rivals"].push_back(to_json(outcome));
        } else {
          print(outcome, options);
        }
      },
      [] { return stop_signal() != 0; });
  if (options.json) out().print("{}\n", to_text(json, 2));
  return exit_code_of(outcomes);
}

}  // namespace

Command add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "run a layer on your own weights and input");
  const auto options = std::make_shared<RunOptions>();
  options->axes.add_to(*command, plan::AxesOptions::Which::layers);
  add_value(*command, "--input", options->input, "FILE",
            ".npy file of (tokens, width) or (batch, tokens, width) (default: random)");
  add_value(*command, "--output", options->output, "FILE",
            ".npy file to write the result to; of several rivals, the first one's");
  command->add_flag("--list", options->list,
                    "print what --weights holds and which layers it has, and run nothing");
  command->add_flag("--check", options->check, "compare every result with the oracle's");
  add_value(*command, "--repetitions", options->repetitions, "N",
            "samples of the time (default 9)");
  add_value(*command, "--seed", options->seed, "N", "seed of random weights and input (default 1)");
  add_value(*command, "--max-memory", options->max_memory, "SIZE",
            "maximum memory to use, such as 16GiB (default: what the machine has free)");
  command->add_flag("--json", options->json, "print JSON");
  add_examples(
      *command,
      "  headroom run --weights model.safetensors --list\n"
      "  headroom run --weights model.safetensors --layer 0 --input x.npy --output y.npy --check\n"
      "  headroom run --config config.json --layer 0 --tokens 128 --check");
  return {command, [options] { return run_command(*options); }};
}

}  // namespace headroom::cli
