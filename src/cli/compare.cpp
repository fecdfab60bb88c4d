#include "sweep/compare.hpp"

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/results.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/json_text.hpp"
#include "sweep/numbers.hpp"

namespace headroom::cli {
namespace {

struct CompareOptions {
  std::string base, next;
  std::string threshold = "3%";
  bool fail_on_regression = false;
  bool json = false;
};

int run(const CompareOptions& options) {
  sweep::CompareSettings settings;
  settings.threshold = sweep::parse_percent("--threshold", options.threshold);
  const sweep::ResultsFolder base = read_results(options.base);
  const sweep::ResultsFolder next = read_results(options.next);
  const sweep::FolderComparison comparison = sweep::compare_folders(base, next, settings);
  for (const std::string& warning : comparison.warnings) complain("warning", warning);
  if (options.json) {
    out().print("{}\n", sweep::to_text(sweep::to_json(comparison), 2));
  } else {
    out().write(sweep::comparison_table(comparison));
  }
  if (!options.fail_on_regression) return sweep::kDone;
  if (comparison.regressions() > 0) return sweep::kCheckFailed;
  if (comparison.compared() > 0) return sweep::kDone;
  complain("error", "no cell has a time on both sides: nothing was compared, so nothing passed");
  return sweep::kCheckFailed;
}

}  // namespace

Command add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "tell two results folders apart, cell by cell");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("BASE", options->base, "folder of the results to compare with")->required();
  command->add_option("NEW", options->next, "folder of the results to judge")->required();
  command->add_option("--threshold", options->threshold,
                      "smallest difference that matters (default 3%)");
  command->add_flag("--fail-on-regression", options->fail_on_regression,
                    "exit with 1 if a cell is slower, or broke");
  command->add_flag("--json", options->json, "print JSON");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
