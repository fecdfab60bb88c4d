#include "store/collect.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "store/plain_words.hpp"

namespace headroom::cli {
namespace {

using Taken = store::Collected::Taken;

struct CollectOptions {
  std::vector<std::string> folders;
  std::string store;
  bool dry_run = false;
  bool without_peers = false;
};

std::string taken_words(const store::Collected& one) {
  if (one.taken == Taken::nothing) {
    if (one.known == 0) return "nothing taken";
    return fmt::format("nothing new, {} there already", counted(one.known, "cell"));
  }
  std::string words =
      fmt::format("{}{}, {} with a time", one.taken == Taken::as_grown ? "grew by " : "",
                  counted(one.cells, "cell"), one.timed);
  if (one.known > 0) words += fmt::format(", {} there already", one.known);
  if (one.noise_floor > 0) {
    words += ", noise floor " + format_share(one.noise_floor, 1);
  } else {
    words += ", noise floor not known";
  }
  return words;
}

int run(const CollectOptions& options) {
  store::CollectSettings settings;
  settings.dry_run = options.dry_run;
  settings.peers = !options.without_peers;
  settings.secrets = store::names_of_here();
  const std::vector<store::Collected> all =
      store::collect({options.folders.begin(), options.folders.end()}, options.store, settings);
  std::size_t fresh = 0, grown = 0;
  for (const store::Collected& one : all) {
    for (const std::string& note : one.notes) {
      complain("note", fmt::format("{}: {}", shown_path(one.source), note));
    }
    out().print("{} -> {}\n  {}: {}\n", shown_path(one.source), shown_path(one.place),
                one.processor, taken_words(one));
    if (one.taken == Taken::as_new) ++fresh;
    if (one.taken == Taken::as_grown) ++grown;
  }
  out().print("{} in {}: {} new, {} grown, {} without anything new{}\n",
              counted(all.size(), "folder"), shown_text(options.store), fresh, grown,
              all.size() - fresh - grown,
              options.dry_run ? "; nothing was written, because of --dry-run" : "");
  return kDone;
}

}  // namespace

Command add_collect(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "collect", "put results folders into a store of many machines and versions");
  const auto options = std::make_shared<CollectOptions>();
  add_place(*command, "DIR", options->folders, "results folders, or stores of them")->required();
  add_value(*command, "--into", options->store, "STORE",
            "folder of the store, in which each run becomes MACHINE/VERSION")
      ->required();
  command->add_flag("--without-peers", options->without_peers,
                    "leave out the cells of other libraries, which are never ranked among ours");
  command->add_flag(
      "--dry-run", options->dry_run,
      "list what would be collected, and what would be left out and why; write nothing");
  add_examples(*command,
               "  headroom collect headroom-results --into store --dry-run\n"
               "  headroom collect laptop server --into store");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
