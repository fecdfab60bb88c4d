#include "report/page/report.hpp"

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "cli/results.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom::cli {
namespace {

struct ReportOptions {
  std::string folder;
  std::optional<std::string> out_folder;
};

int run(const ReportOptions& options) {
  const record::ResultsFolder folder = read_results(options.folder);
  const report::WrittenReport report =
      report::write_report(folder, options.out_folder.value_or(options.folder));
  for (const std::string& warning : report.warnings) complain("warning", warning);
  out().print("{}\n", shown_path(report.page));
  return kDone;
}

}  // namespace

Command add_report(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("report", "turn a results folder into a page with charts and tables");
  const auto options = std::make_shared<ReportOptions>();
  add_place(*command, "DIR", options->folder, "results folder")->required();
  add_value(*command, "--out", options->out_folder, "FOLDER",
            "folder for index.html, report.md and results.csv (default: DIR)");
  add_examples(*command,
               "  headroom report headroom-results            writes headroom-results/index.html");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
