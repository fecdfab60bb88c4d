#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/line/arguments.hpp"
#include "cli/line/complete.hpp"
#include "cli/line/manual.hpp"
#include "cli/line/output.hpp"
#include "cli/line/run_program.hpp"
#include "cli/line/usage.hpp"
#include "headroom/version.hpp"
#include "program/exit_code.hpp"
#include "program/process_setup.hpp"
#include "program/quiet.hpp"
#include "program/signals.hpp"

namespace headroom::cli {
namespace {

using Words = std::vector<std::string>;

// A reader that exits early is not an error; a full disk is.
int after_flush(int code) {
  const int error = out().flush();
  if (error == 0 || error == EPIPE) return code;
  complain("error", fmt::format("cannot write to standard output: {}; redirect it elsewhere",
                                std::strerror(error)));
  return code == kDone ? static_cast<int>(kNoResource) : code;
}

// Help as wide as a terminal: the parser's own has lines of any length.
class HelpText final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t kWidth = 68;
    std::string text = option->get_description();
    std::size_t line = 0;
    for (std::size_t blank = text.rfind(' ', line + kWidth); text.size() - line > kWidth;
         blank = text.rfind(' ', line + kWidth)) {
      if (blank == std::string::npos || blank <= line) break;
      text[blank] = '\n';
      line = blank + 1;
    }
    return text;
  }
};

int run_words(CLI::App& app, const std::vector<Command>& commands, const Words& words) {
  if (words.empty()) {
    out().write(app.help());
    return kDone;
  }
  // For shells and for who builds the manual page: no help shows them.
  if (words.front() == "complete")
    return print_candidates(app, commands, {words.begin() + 1, words.end()});
  if (words == Words{"manual"}) {
    out().write(manual(app, commands));
    return kDone;
  }
  try {
    app.parse(Words(words.rbegin(), words.rend()));  // the parser wants the last one first
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    complain("error", usage_message(app, commands, error, words));
    return kWrongUsage;
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [](const Command& each) { return each.app->parsed(); });
  return guarded(chosen->run);  // the parser requires one
}

}  // namespace

int run_program(int count, char** arguments, machine::LimitKernelsOf limits_of,
                RunAsRank run_as_rank) {
  CLI::App app("How fast multi-head attention can run on this machine, and what to link for it.",
               "headroom");
  const auto help = std::make_shared<HelpText>();
  help->label("SUBCOMMAND", "COMMAND");
  app.formatter(help);
  app.set_version_flag("--version", HEADROOM_VERSION);
  app.add_flag_callback("--quiet", be_quiet,
                        "only results, warnings and errors: no progress, no notes");
  app.require_subcommand(1);
  app.fallthrough();
  const std::vector<Command> commands{add_info(app, limits_of, run_as_rank),
                                      add_verify(app, run_as_rank),
                                      add_sweep(app, limits_of, run_as_rank),
                                      add_merge(app),
                                      add_collect(app),
                                      add_compare(app),
                                      add_trend(app),
                                      add_bisect(app),
                                      add_export(app),
                                      add_pick(app, limits_of),
                                      add_report(app),
                                      add_run(app, limits_of),
                                      add_tune(app, limits_of),
                                      add_explain(app, limits_of)};
  for (const Command& command : commands) command.app->group("Commands");
  add_examples(app,
               "  headroom info                    what this machine has\n"
               "  headroom sweep                   checks and measures every backend\n"
               "  headroom report headroom-results turns that into a page\n"
               "  headroom pick --model gpt2       what to link for one model");
  make_failed_writes_errors();
  return after_flush(
      guarded([&] { return run_words(app, commands, expand_arguments(count, arguments)); }));
}

}  // namespace headroom::cli
