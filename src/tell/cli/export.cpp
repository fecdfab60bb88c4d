#include "show/export.hpp"

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "cli/results.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"

namespace headroom::cli {
namespace {

struct ExportOptions {
  std::string folder, format;
  std::optional<std::string> output;
};

int run(const ExportOptions& options) {
  const show::ExportFormat format = show::parse_export_format("--to", options.format);
  const record::ResultsFolder folder = read_results(options.folder);
  const std::size_t left_out = show::cells_without_time(folder);
  if (format != show::ExportFormat::csv && left_out > 0) {
    complain("warning",
             fmt::format("{} of {} cells have no time and are left out; --to csv includes them",
                         left_out, folder.results.size()));
  }
  const std::string text = show::export_results(folder, format);
  if (options.output) {
    write_file(*options.output, text);
  } else {
    out().write(text);
  }
  return kDone;
}

}  // namespace

Command add_export(CLI::App& app) {
  CLI::App* command = app.add_subcommand("export", "write results in the formats of other tools");
  const auto options = std::make_shared<ExportOptions>();
  add_place(*command, "DIR", options->folder, "results folder")->required();
  add_value(*command, "--to", options->format, "gbench|csv|bmf",
            "gbench (Google Benchmark's JSON), csv, or bmf (Bencher Metric Format)")
      ->required();
  add_value(*command, "--output", options->output, "FILE",
            "file to write (default: standard output)");
  add_examples(*command, "  headroom export headroom-results --to csv --output results.csv");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
