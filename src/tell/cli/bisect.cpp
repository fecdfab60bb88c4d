#include "bisect/bisect.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/output.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "show/versions/bisect_table.hpp"

namespace headroom::cli {
namespace {

struct BisectOptions {
  std::string good, bad;
  std::vector<std::string> axes;
  std::string repository = ".";
  std::string work = "headroom-bisect";
  std::string build = "cmake --preset native && cmake --build --preset native --target headroom";
  std::string program = "build/headroom";
  std::string threshold = "3%";
};

int run(const BisectOptions& options) {
  bisect::Request request;
  request.repository = options.repository;
  request.work = options.work;
  request.good = options.good;
  request.bad = options.bad;
  request.axes = options.axes;
  request.build = options.build;
  request.program = options.program;
  request.threshold = parse_percent("--threshold", options.threshold);
  install_signal_handlers();
  const bisect::Outcome outcome =
      bisect::bisect(request, [](const std::string& text) { complain("note", text); });
  out().write(show::bisect_table(outcome));
  if (outcome.end == bisect::End::stopped) return kSignalBase + stop_signal();
  return outcome.end == bisect::End::found ? kDone : kCheckFailed;
}

}  // namespace

Command add_bisect(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bisect", "find the commit that made cells slower: builds and measures in turn");
  const auto options = std::make_shared<BisectOptions>();
  add_place(*command, "GOOD", options->good, "commit where the cells were faster")->required();
  add_place(*command, "BAD", options->bad, "later commit where they are slower")->required();
  add_place(*command, "AXES", options->axes,
            "after --: the cells and how to measure them, as options of headroom sweep");
  add_value(*command, "--repository", options->repository, "FOLDER",
            "git repository of the program (default: this folder); its checkout is left alone");
  add_value(
      *command, "--work", options->work, "FOLDER",
      "folder for builds and findings; the same command resumes from it (default headroom-bisect)");
  add_value(*command, "--build", options->build, "COMMAND",
            "shell command that builds a commit, run in its folder (default: the preset native)");
  add_value(*command, "--program", options->program, "PATH",
            "program that the build leaves in that folder (default build/headroom)");
  add_value(*command, "--threshold", options->threshold, "PERCENT",
            "smallest difference that matters (default 3%)");
  add_examples(
      *command,
      "  headroom bisect v0.1.0 HEAD -- --heads 12 --tokens 512 --backend tbb --threads 2");
  return {command, [options] { return run(*options); }};
}

}  // namespace headroom::cli
