#include "cli/line/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "headroom/version.hpp"
#include "program/exit_code.hpp"

namespace headroom::cli {
namespace {

constexpr std::array<std::pair<int, const char*>, 6> kExitCodes{
    {{kDone, "done"},
     {kCheckFailed, "a check failed, or a regression was found"},
     {kWrongUsage, "wrong usage"},
     {kBadFile, "bad file"},
     {kNoResource, "no resource: memory, disk, or a folder that another process writes"},
     {kNotAvailable, "backend or instruction set not available"}}};

constexpr std::array<std::pair<const char*, const char*>, 5> kVariables{
    {{"HEADROOM_ISA", "forces an instruction set, as --isa does"},
     {"HEADROOM_UNIT", "forces who multiplies parts, as --unit does"},
     {"HEADROOM_AMX_FP16", "1 assumes that tiles multiply fp16, 0 that they do not"},
     {"HEADROOM_TUNING", "names the tuning file that layers read"},
     {"NO_COLOR", "any text: no colours on a terminal"}}};

// A hyphen is a minus, a backslash is shown, and no line begins with what roff would obey.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char each : text) {
    const bool line_start = escaped.empty() || escaped.back() == '\n';
    if (line_start && (each == '.' || each == '\'')) escaped += "\\&";
    if (each == '-') {
      escaped += "\\-";
    } else if (each == '\\') {
      escaped += "\\e";
    } else {
      escaped += each;
    }
  }
  return escaped;
}

void add_option(std::string& page, const CLI::Option& option) {
  const std::string& value = option.get_option_text();
  const bool shows_value = value.find_first_not_of(' ') != std::string::npos;
  page += fmt::format(".TP\n.B {}{}\n{}\n", roff(option.get_name(!option.nonpositional(), true)),
                      shows_value ? " \\fI" + roff(value) + "\\fR" : "",
                      roff(option.get_description()));
}

void add_command(std::string& page, const CLI::App& command) {
  page += fmt::format(".SS headroom {}\n{}\n", roff(command.get_name()),
                      roff(command.get_description()));
  for (const CLI::Option* option : command.get_options()) {
    if (option != command.get_help_ptr()) add_option(page, *option);
  }
}

// Without the headline and the last line, which say what a reader of the manual knows.
void add_examples_of(std::string& page, const CLI::App& command) {
  const std::string text = command.get_footer();
  const std::size_t first = text.find('\n');
  const std::size_t last = text.find("\n\n");
  if (first == std::string::npos || last == std::string::npos) return;
  page += roff(text.substr(first + 1, last - first));
}

}  // namespace

std::string manual(const CLI::App& app, const std::vector<Command>& commands) {
  std::string page = fmt::format(
      ".\\\" written by headroom manual\n.TH HEADROOM 1 \"\" \"headroom {}\" \"User Commands\"\n"
      ".SH NAME\nheadroom \\- {}\n"
      ".SH SYNOPSIS\n.B headroom\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fB@\\fIFILE\\fR]\n"
      ".SH DESCRIPTION\n{}\n",
      HEADROOM_VERSION, "measures multi\\-head attention on a CPU and names what to link",
      roff(app.get_description()));
  page +=
      "Every timed result was checked against a double\\-precision reference in the same "
      "run.\n.PP\n"
      "Results go to standard output, progress, notes, warnings and errors to standard "
      "error.\n.PP\n"
      "\\fB@\\fIFILE\\fR reads options from a file, one a line, such as\n.B \\-\\-heads "
      "12,96\n"
      "; empty lines and those that begin with # say nothing.\n.SH OPTIONS\n";
  for (const CLI::Option* option : app.get_options()) add_option(page, *option);
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) add_command(page, *command.app);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes)
    page += fmt::format(".TP\n.B {}\n{}\n", code, roff(meaning));
  page += fmt::format(".TP\n.B {} + N\nended by signal N; all finished cells are kept\n",
                      int{kSignalBase});
  page += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : kVariables)
    page += fmt::format(".TP\n.B {}\n{}\n", name, roff(meaning));
  page += ".SH EXAMPLES\n.nf\n";
  for (const Command& command : commands) add_examples_of(page, *command.app);
  return page + ".fi\n";
}

}  // namespace headroom::cli
