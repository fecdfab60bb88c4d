#include "record/merge.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> folders;
  std::string out_folder;
};

int run(const MergeOptions& options) {
  const record::Merged merged =
      record::merge_folders({options.folders.begin(), options.folders.end()}, options.out_folder);
  for (const std::string& note : merged.notes) complain("note", note);
  if (merged.cells < merged.planned) {
    complain(
        "warning",
        fmt::format("{} of {} cells are missing; measure them with the arguments of the "
                    "whole sweep and --resume --out {}",
                    merged.planned - merged.cells, merged.planned, shown_text(options.out_folder)));
  }
  out().print("{} cells from {} folders; results in {}\n", merged.cells, options.folders.size(),
              shown_text(options.out_folder));
  return kDone;
}

}  // namespace

Command add_merge(CLI::App& app) {
  CLI::App* command = app.add_subcommand("merge", "join the shards of a sweep");
  const auto options = std::make_shared<MergeOptions>();
  add_place(*command, "DIR", options->folders, "folders that headroom sweep --shard wrote")
      ->required();
  add_value(*command, "--out", options->out_folder, "FOLDER", "folder for the merged results")
      ->required();
  add_examples(*command, "  headroom merge part-1 part-2 --out whole");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
