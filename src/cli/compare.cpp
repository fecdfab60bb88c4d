#include "judge/compare.hpp"

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/results.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "show/comparison_table.hpp"

namespace headroom::cli {
namespace {

struct CompareOptions {
  std::string base, next;
  std::string threshold = "3%";
  bool fail_on_regression = false;
  bool json = false;
};

int run(const CompareOptions& options) {
  judge::CompareSettings settings;
  settings.threshold = parse_percent("--threshold", options.threshold);
  const record::ResultsFolder base = read_results(options.base);
  const record::ResultsFolder next = read_results(options.next);
  const judge::FolderComparison comparison = judge::compare_folders(base, next, settings);
  for (const std::string& warning : comparison.warnings) complain("warning", warning);
  if (options.json) {
    out().print("{}\n", headroom::to_text(show::to_json(comparison), 2));
  } else {
    out().write(show::comparison_table(comparison));
  }
  if (!options.fail_on_regression) return kDone;
  if (comparison.regressions() > 0) return kCheckFailed;
  if (comparison.compared() > 0) return kDone;
  complain("error", "nothing was compared, because no cell has a time in both folders");
  return kCheckFailed;
}

}  // namespace

Command add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "compare two results folders cell by cell");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("BASE", options->base, "results folder to compare with")->required();
  command->add_option("NEW", options->next, "results folder to judge")->required();
  command->add_option("--threshold", options->threshold,
                      "smallest difference that matters (default 3%)");
  command->add_flag("--fail-on-regression", options->fail_on_regression,
                    "exit with 1 if a cell became slower or broke");
  command->add_flag("--json", options->json, "print JSON");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
