#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/nearest.hpp"
#include "headroom/version.hpp"
#include "program/exit_code.hpp"
#include "program/process_setup.hpp"
#include "program/signals.hpp"

namespace headroom::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Suggests the nearest valid command or option, which the parser's own messages do not.
std::string hint(const CLI::App& app, const std::vector<Command>& commands, int count,
                 char** arguments) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.app->get_name());
  const CLI::App* chosen = nullptr;
  for (int i = 1; i < count && chosen == nullptr; ++i) {
    const std::string word = arguments[i];
    for (const Command& command : commands) {
      if (word == command.app->get_name()) chosen = command.app;
    }
    if (chosen == nullptr && !word.starts_with("-")) {
      return fmt::format("unknown command '{}'; {}", word, suggest(word, names));
    }
  }
  const std::vector<std::string> known = option_names(chosen != nullptr ? *chosen : app);
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || name == "--") continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      // The whole list would fill the screen, and --help shows it in order.
      const std::string nearest = suggest(name, known);
      const std::size_t end = nearest.find("? ");
      return fmt::format("unknown option '{}'; {}see --help for all", name,
                         end == std::string::npos ? "" : nearest.substr(0, end + 2));
    }
  }
  return "";
}

int report_usage(const CLI::App& app, const std::vector<Command>& commands,
                 const CLI::ParseError& error, int count, char** arguments) {
  std::string message = hint(app, commands, count, arguments);
  if (message.empty()) message = fmt::format("{}; see --help", error.what());
  complain("error", message);
  return kWrongUsage;
}

}  // namespace

int run_program(int count, char** arguments, machine::LimitKernelsOf limits_of,
                RunAsRank run_as_rank) {
  CLI::App app("How fast multi-head attention can run on this machine, and what to link for it.",
               "headroom");
  app.set_version_flag("--version", HEADROOM_VERSION);
  app.require_subcommand(1);
  const std::vector<Command> commands{add_info(app, limits_of, run_as_rank),
                                      add_verify(app, run_as_rank),
                                      add_sweep(app, limits_of, run_as_rank),
                                      add_merge(app),
                                      add_compare(app),
                                      add_export(app),
                                      add_pick(app, limits_of),
                                      add_report(app),
                                      add_run(app),
                                      add_tune(app, limits_of),
                                      add_explain(app, limits_of)};
  ignore_broken_pipes();
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, commands, error, count, arguments);
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [](const Command& each) { return each.app->parsed(); });
  const int code = guarded(chosen->run);  // the parser requires one
  // A reader that exits early is not an error; a full disk is.
  const int error = out().flush();
  if (error == 0 || error == EPIPE) return code;
  complain("error", fmt::format("cannot write to standard output: {}; redirect it elsewhere",
                                std::strerror(error)));
  return code == kDone ? static_cast<int>(kNoResource) : code;
}

}  // namespace headroom::cli
