#include "trend/trend.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/page/report.hpp"
#include "show/versions/gap_groups.hpp"
#include "show/versions/trend_table.hpp"
#include "store/runs.hpp"

namespace headroom::cli {
namespace {

struct TrendOptions {
  std::vector<std::string> folders;
  std::string threshold = "3%";
  std::optional<std::string> page;
  bool fail_on_step = false;
  bool json = false;
  bool csv = false;
};

int run(const TrendOptions& options) {
  const double threshold = parse_percent("--threshold", options.threshold);
  std::vector<std::filesystem::path> runs;
  for (const std::string& folder : options.folders) {
    for (std::filesystem::path& path : store::runs_in(folder)) runs.push_back(std::move(path));
  }
  const trend::Trend trend = trend::trend_of(runs, threshold);
  for (const std::string& note : trend.notes) complain("note", note);
  if (const std::string broke = show::broke_sentence(trend); !broke.empty()) {
    complain("warning", broke);
  }
  if (options.csv) {
    out().write(show::trend_csv(trend));
  } else if (options.json) {
    out().print("{}\n", headroom::to_text(show::to_json(trend), 2));
  } else {
    out().write(show::trend_table(trend));
  }
  if (options.page) report::write_trend(trend, *options.page);
  const bool fails = trend.slower_at_newest_step() || trend.broke() > 0;
  return options.fail_on_step && fails ? kCheckFailed : kDone;
}

}  // namespace

Command add_trend(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "trend", "show in which version cells became faster, slower or broken, per machine");
  const auto options = std::make_shared<TrendOptions>();
  add_place(*command, "STORE", options->folders,
            "store of results (MACHINE/VERSION/), or the folders of several versions")
      ->required();
  add_value(*command, "--threshold", options->threshold, "PERCENT",
            "smallest step that matters (default 3%)");
  command->add_flag("--fail-on-step", options->fail_on_step,
                    "exit with 1 if the newest step on a machine slowed a cell that somebody would "
                    "link, or if a cell that was verified is now broken");
  CLI::Option* json = command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--csv", options->csv, "print CSV: a row for each cell and version")
      ->excludes(json);
  add_value(*command, "--page", options->page, "FILE",
            "also write a page with a picture of each cell that changed");
  add_examples(*command,
               "  headroom trend results --page trend.html\n"
               "  headroom trend results --threshold 5% --fail-on-step");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
