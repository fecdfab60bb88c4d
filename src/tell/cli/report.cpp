#include "report/page/report.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "across/overview.hpp"
#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "cli/results.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "report/many/many_documents.hpp"
#include "report/many/many_report.hpp"
#include "store/runs.hpp"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderOfMany = "headroom-report";

struct ReportOptions {
  std::vector<std::string> folders;
  std::optional<std::string> out_folder;
  std::vector<std::string> prices;
};

// `DIR` or `NAME=DIR`. What is there by that name is meant, even if it has an equals sign.
across::Source source_of(const std::string& word) {
  std::error_code error;
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || fs::exists(word, error)) return {"", word};
  std::string name = word.substr(0, equals);
  if (name.empty() || equals + 1 == word.size()) {
    throw InvalidArgument(fmt::format(
        "DIR: '{}' has no {}; write NAME=DIR, or the folder alone", shown_text(word),
        name.empty() ? "name before the equals sign" : "folder behind the equals sign"));
  }
  return {name, word.substr(equals + 1)};
}

// `NAME=0.19/h`.
across::Price price_of(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos || equals == 0 || !word.ends_with("/h")) {
    throw InvalidArgument(fmt::format(
        "--price: found '{}'; write the machine and the price of an hour, such as NAME=0.19/h",
        shown_text(word)));
  }
  const double price = parse_real("--price", word.substr(equals + 1, word.size() - equals - 1 - 2));
  if (!(price > 0)) {
    throw InvalidArgument(fmt::format(
        "--price: found '{}'; a price is above 0, such as NAME=0.19/h", shown_text(word)));
  }
  return {word.substr(0, equals), price};
}

// A folder of results, and not a store of them: what it lacks, its reader says best.
bool is_one_folder(const across::Source& source) {
  if (!source.name.empty()) return false;
  try {
    return store::runs_in(source.path).front() == source.path;
  } catch (const FileError&) {
    return true;
  }
}

int report_one(const ReportOptions& options) {
  if (!options.prices.empty()) {
    throw InvalidArgument(
        "--price: one folder is compared with no other; name the folders of several machines");
  }
  const std::string& name = options.folders.front();
  const record::ResultsFolder folder = read_results(name);
  const report::WrittenReport report =
      report::write_report(folder, options.out_folder.value_or(name));
  for (const std::string& warning : report.warnings) complain("warning", warning);
  out().print("{}\n", shown_path(report.page));
  return kDone;
}

int run(const ReportOptions& options) {
  std::vector<across::Source> sources;
  for (const std::string& word : options.folders) sources.push_back(source_of(word));
  std::vector<across::Price> prices;
  for (const std::string& word : options.prices) prices.push_back(price_of(word));
  if (sources.size() == 1 && is_one_folder(sources.front())) return report_one(options);
  const across::Collection collection = across::gather(sources, prices);
  for (const across::Entry& entry : collection.entries) {
    for (const std::string& note : entry.folder.notes) {
      complain("note", fmt::format("{}: {}", shown_path(entry.folder.path), note));
    }
  }
  const across::Overview overview = across::look_over(collection);
  const fs::path page = report::write_many(overview, options.out_folder.value_or(kFolderOfMany));
  out().write(report::many_text(overview));
  out().print("\n{}\n", shown_path(page));
  return kDone;
}

}  // namespace

Command add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "report",
      "turn results of one or several machines and versions into a page with charts and tables");
  const auto options = std::make_shared<ReportOptions>();
  add_place(*command, "DIR", options->folders,
            "results folder, or a store of them (MACHINE/VERSION/); of several also NAME=DIR, "
            "which names the machine")
      ->required();
  add_value(*command, "--out", options->out_folder, "FOLDER",
            "folder for index.html, report.md and results.csv (default: DIR; of several "
            "headroom-report)");
  add_value(*command, "--price", options->prices, "NAME=PRICE/h",
            "what an hour of a machine costs, such as small=0.19/h; repeatable")
      ->allow_extra_args(false);
  add_examples(
      *command,
      "  headroom report headroom-results            writes headroom-results/index.html\n"
      "  headroom report results                     every machine and version of a store\n"
      "  headroom report small=a big=b --price small=0.19/h --price big=0.52/h");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
