#include "measure/verify/verify.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/computed.hpp"
#include "cli/line/output.hpp"
#include "machine/memory.hpp"
#include "plan/axes_options.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "record/result.hpp"
#include "reference/comparator.hpp"

namespace headroom::cli {
namespace {

using measure::VerifyCheck;
using nlohmann::ordered_json;
using record::Status;
using reference::Data;

struct VerifyOptions {
  plan::AxesOptions axes;
  std::string seed = "1";
  bool json = false;
};

const char* verdict(const VerifyCheck& check) {
  if (check.status == Status::ok) return "passed";
  return check.status == Status::failed ? "failed" : "skipped";
}

std::string errors_beside_limits(const VerifyCheck& check) {
  const reference::Comparison& error = *check.error;
  std::string text =
      error.by_element()
          ? fmt::format("adversarial, worst element {:.2g} of its bound", error.bound_ratio)
          : fmt::format("nrmse {:.1e} (limit {:.0e}), max/rms {:.1e} (limit {:.0e})", error.nrmse,
                        error.limits.nrmse, error.max_over_rms, error.limits.max_over_rms);
  if (check.checked_rows < check.rows) {
    text += fmt::format(", {} of {} rows", check.checked_rows, check.rows);
  }
  return text;
}

void print(const VerifyCheck& check) {
  std::string line = fmt::format("{:<7} {}", verdict(check), check.id);
  if (!check.isa.empty()) line += " " + check.isa;
  if (!check.unit.empty()) line += " " + check.unit;
  if (check.error) line += "  " + errors_beside_limits(check);
  if (!check.reason.empty()) line += "  (" + check.reason + ")";
  out().print("{}\n", line);
}

ordered_json to_json(const VerifyCheck& check) {
  ordered_json json{
      {"id", check.id},
      {"isa", check.isa.empty() ? ordered_json(nullptr) : ordered_json(check.isa)},
      {"unit", check.unit.empty() ? ordered_json(nullptr) : ordered_json(check.unit)},
      {"data", check.data == Data::adversarial ? "adversarial" : "standard"},
      {"verdict", verdict(check)},
      {"reason", check.reason.empty() ? ordered_json(nullptr) : ordered_json(check.reason)}};
  if (check.error) {
    json["error"] = record::to_json(*check.error);
    json["error"]["bound_ratio"] = check.error->bound_ratio;
    json["checked_rows"] = {{"checked", check.checked_rows}, {"of", check.rows}};
  }
  return json;
}

int run(const VerifyOptions& options, measure::Crew* crew) {
  measure::Settings settings;
  settings.seed = parse_seed(options.seed);
  settings.memory_limit = machine::usable_memory();
  settings.crew = crew;
  const auto cases = measure::verify_cases(
      options.axes.values(), {settings.seed, false, crew != nullptr ? crew->size() : 1});
  install_signal_handlers();
  ordered_json checks = ordered_json::array();
  Computed computed;
  const measure::VerifyCounts counts = measure::verify(
      cases, settings,
      [&](const VerifyCheck& check) {
        computed.add(check.status, check.rows, check.id, check.reason);
        if (options.json) {
          checks.push_back(to_json(check));
        } else {
          print(check);
        }
      },
      [] { return stop_signal() != 0; });
  if (options.json) {
    const ordered_json all{{"schema", "headroom.verify/1"},
                           {"checks", checks},
                           {"passed", counts.passed},
                           {"failed", counts.failed},
                           {"skipped", counts.skipped}};
    out().print("{}\n", headroom::to_text(all, 2));
  } else {
    out().print("{} passed, {} failed, {} skipped\n", counts.passed, counts.failed, counts.skipped);
  }
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  return counts.failed > 0 ? kCheckFailed : computed.exit_code();
}

}  // namespace

Command add_verify(CLI::App& app, RunAsRank run_as_rank) {
  CLI::App* command = app.add_subcommand("verify", "check every backend against the oracle");
  const auto options = std::make_shared<VerifyOptions>();
  options->axes.add_to(*command);
  add_value(*command, "--seed", options->seed, "N", "seed of weights and inputs (default 1)");
  command->add_flag("--json", options->json, "print JSON");
  add_examples(*command,
               "  headroom verify                             the preset quick, every backend\n"
               "  headroom verify --model gpt2 --tokens 128 --backend xsimd,tbb");
  return {command, [options, run_as_rank] {
            return with_ranks(options->axes.given("ranks"), run_as_rank,
                              [&](measure::Crew* crew) { return run(*options, crew); });
          }};
}

}  // namespace headroom::cli
