#include "judge/compare.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "cli/results.hpp"
#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "measure/again/measure_again.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "report/page/report.hpp"
#include "report/page/report_files.hpp"
#include "show/comparison_table.hpp"

namespace headroom::cli {
namespace {

struct CompareOptions {
  std::string base, next;
  std::string threshold = "3%";
  std::string gate = "linkable";
  std::optional<std::string> base_program, next_program, page;
  bool fail_on_regression = false;
  bool json = false;
};

judge::Gate parse_gate(const std::string& text) {
  if (text == "linkable") return judge::Gate::linkable;
  if (text == "all") return judge::Gate::all;
  throw InvalidArgument(
      fmt::format("--gate: unknown gate '{}'; {}", text, suggest(text, {"linkable", "all"})));
}

void check_programs(const CompareOptions& options) {
  if (!options.base_program && !options.next_program) return;
  if (!options.base_program || !options.next_program) {
    throw InvalidArgument(
        "--base-program and --new-program: one alone shows no difference; give both");
  }
  if (!options.fail_on_regression) {
    throw InvalidArgument(
        "--base-program and --new-program measure again what is about to fail a gate; add "
        "--fail-on-regression");
  }
}

// One noisy minute must not fail a gate.
void measure_again(const CompareOptions& options, const judge::CompareSettings& settings,
                   judge::FolderComparison& comparison) {
  const std::vector<std::string> ids = comparison.to_measure_again();
  if (ids.empty()) return;
  if (!options.base_program) {
    complain("note",
             "with --base-program and --new-program, what is about to fail the gate is "
             "measured again first");
    return;
  }
  complain("note", fmt::format("{} about to fail the gate", counted(ids.size(), "cell")));
  install_signal_handlers();
  const measure::SecondRun second = measure::measure_again(
      {comparison.base, *options.base_program}, {comparison.next, *options.next_program}, ids,
      [](const std::string& text) { complain("note", text); });
  if (stop_signal() != 0) return;
  judge::add_second_run(comparison, judge::compare_folders(second.base, second.next, settings));
}

ExitCode gate(const judge::FolderComparison& comparison) {
  if (comparison.gating() > 0) return kCheckFailed;
  if (comparison.compared_in_gate() > 0) return kDone;
  complain("error", comparison.compared() == 0
                        ? "nothing was compared, because no cell has a time in both folders"
                        : "nothing was compared that gates: nobody would link these backends; "
                          "--gate all counts them");
  return kCheckFailed;
}

int run(const CompareOptions& options) {
  judge::CompareSettings settings;
  settings.threshold = parse_percent("--threshold", options.threshold);
  const judge::Gate gate_of = parse_gate(options.gate);
  check_programs(options);
  const record::ResultsFolder base = read_results(options.base);
  const record::ResultsFolder next = read_results(options.next);
  judge::FolderComparison comparison = judge::compare_folders(base, next, settings);
  comparison.gate = gate_of;
  if (options.page) report::require_page(*options.page);
  if (options.fail_on_regression) measure_again(options, settings, comparison);
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  for (const std::string& warning : comparison.warnings) complain("warning", warning);
  if (options.json) {
    out().print("{}\n", headroom::to_text(show::to_json(comparison), 2));
  } else {
    out().write(show::comparison_table(comparison));
  }
  if (options.page) report::write_comparison(comparison, *options.page);
  return options.fail_on_regression ? gate(comparison) : kDone;
}

}  // namespace

Command add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "compare two results folders cell by cell");
  const auto options = std::make_shared<CompareOptions>();
  add_place(*command, "BASE", options->base, "results folder to compare with")->required();
  add_place(*command, "NEW", options->next, "results folder to judge")->required();
  add_value(*command, "--threshold", options->threshold, "PERCENT",
            "smallest difference that matters (default 3%)");
  command->add_flag("--fail-on-regression", options->fail_on_regression,
                    "exit with 1 if a cell became slower or broke");
  add_value(*command, "--gate", options->gate, "linkable|all",
            "which regressions count: linkable (default), which leaves out backends that nobody "
            "would link, or all");
  add_value(*command, "--base-program", options->base_program, "PROGRAM",
            "program that measured BASE: what is about to fail is measured again by both programs "
            "in turn, and fails only if it recurs");
  add_value(*command, "--new-program", options->next_program, "PROGRAM",
            "program that measured NEW");
  command->add_flag("--json", options->json, "print JSON");
  add_value(*command, "--page", options->page, "FILE",
            "also write a page with a picture of every cell");
  add_examples(*command,
               "  headroom compare before after --page changes.html\n"
               "  headroom compare before after --threshold 5% --fail-on-regression");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
