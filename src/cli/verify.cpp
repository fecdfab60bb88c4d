#include "sweep/verify.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "reference/comparator.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/json_text.hpp"
#include "sweep/numbers.hpp"

namespace headroom::cli {
namespace {

using nlohmann::ordered_json;
using reference::Data;
using sweep::Status;
using sweep::VerifyCheck;

struct VerifyOptions {
  sweep::Axes axes;
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
      check.data == Data::adversarial
          ? fmt::format("adversarial, worst element {:.2g} of its bound", error.bound_ratio)
          : fmt::format("nrmse {:.1e} (limit {:.0e}), max/rms {:.1e} (limit {:.0e})", error.nrmse,
                        reference::kNrmseLimit, error.max_over_rms, reference::kMaxOverRmsLimit);
  if (check.checked_rows < check.rows) {
    text += fmt::format(", {} of {} rows", check.checked_rows, check.rows);
  }
  return text;
}

void print(const VerifyCheck& check) {
  std::string line = fmt::format("{:<7} {}", verdict(check), check.id);
  if (!check.isa.empty()) line += " " + check.isa;
  if (check.error) line += "  " + errors_beside_limits(check);
  if (!check.reason.empty()) line += "  (" + check.reason + ")";
  out().print("{}\n", line);
}

ordered_json to_json(const VerifyCheck& check) {
  ordered_json json{
      {"id", check.id},
      {"isa", check.isa.empty() ? ordered_json(nullptr) : ordered_json(check.isa)},
      {"data", check.data == Data::adversarial ? "adversarial" : "standard"},
      {"verdict", verdict(check)},
      {"reason", check.reason.empty() ? ordered_json(nullptr) : ordered_json(check.reason)}};
  if (check.error) {
    json["error"] = sweep::to_json(*check.error);
    json["error"]["bound_ratio"] = check.error->bound_ratio;
    json["checked_rows"] = {{"checked", check.checked_rows}, {"of", check.rows}};
  }
  return json;
}

int run(const VerifyOptions& options) {
  const auto seed = static_cast<std::uint64_t>(sweep::parse_number("--seed", options.seed, 0));
  const auto cases = sweep::verify_cases(options.axes, {seed, false});
  const auto rivals = sweep::verify_rivals(options.axes);
  sweep::install_signal_handlers();
  ordered_json checks = ordered_json::array();
  const sweep::VerifyCounts counts = sweep::verify(
      cases, rivals, seed, sweep::usable_memory({}),
      [&](const VerifyCheck& check) {
        if (options.json) {
          checks.push_back(to_json(check));
        } else {
          print(check);
        }
      },
      [] { return sweep::stop_signal() != 0; });
  if (options.json) {
    const ordered_json all{{"schema", "headroom.verify/1"},
                           {"checks", checks},
                           {"passed", counts.passed},
                           {"failed", counts.failed},
                           {"skipped", counts.skipped}};
    out().print("{}\n", sweep::to_text(all, 2));
  } else {
    out().print("{} passed, {} failed, {} skipped\n", counts.passed, counts.failed, counts.skipped);
  }
  if (sweep::stop_signal() != 0) return sweep::kSignalBase + sweep::stop_signal();
  return counts.failed > 0 ? sweep::kCheckFailed : sweep::kDone;
}

}  // namespace

Command add_verify(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "check every backend against the oracle");
  const auto options = std::make_shared<VerifyOptions>();
  sweep::add_axes_options(*command, options->axes);
  command->add_option("--seed", options->seed, "seed of weights and inputs (default 1)");
  command->add_flag("--json", options->json, "print JSON");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
