#include "cli/line/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/line/output.hpp"
#include "cli/line/usage.hpp"
#include "lesson/examples.hpp"
#include "plan/axes.hpp"
#include "program/exit_code.hpp"

namespace headroom::cli {
namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t stop = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, stop - start));
    start = stop + 1;
  }
  return parts;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> choices;
  const plan::Axes axes;
  plan::Axes::each(axes, [&](const auto& axis) {
    if ("--" + std::string(axis.words().name) == option.get_name()) choices = axis.words().choices;
  });
  const std::string& value = option.get_option_text();
  if (choices.empty() && value.find('|') != std::string::npos) choices = split_at(value, '|');
  return choices;
}

// Of several names separated by commas, the last is completed.
std::vector<Candidate> values_of(const CLI::Option& option, const std::string& begun) {
  const bool several = option.get_option_text() == "NAMES";
  const std::size_t comma = several ? begun.rfind(',') : std::string::npos;
  const std::string before = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
  std::vector<Candidate> candidates;
  for (const std::string& choice : choices_of(option)) {
    if ((before + choice).starts_with(begun)) candidates.push_back({before + choice, ""});
  }
  return candidates;
}

// The first line of a help is enough.
std::string brief(const std::string& help) { return help.substr(0, help.find_first_of(";(:\n")); }

std::vector<Candidate> options_of(const CLI::App& app, const std::string& begun) {
  std::vector<Candidate> candidates;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || !option->get_name().starts_with(begun)) continue;
    candidates.push_back({option->get_name(), brief(option->get_description())});
  }
  return candidates;
}

// What stands in a command's place: the examples of the lesson, unless one was named.
std::vector<Candidate> places_of(const CLI::App& command, const std::vector<std::string>& before,
                                 const std::string& begun) {
  std::vector<Candidate> candidates;
  if (command.get_option_no_throw("EXAMPLE") == nullptr) return candidates;
  for (const lesson::Example& example : lesson::examples()) {
    const std::string name(example.name);
    if (std::find(before.begin(), before.end(), name) != before.end()) return {};
    if (name.starts_with(begun)) candidates.push_back({name, brief(std::string(example.line))});
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> complete(const CLI::App& app, const std::vector<Command>& commands,
                                const std::vector<std::string>& words) {
  const std::string begun = words.empty() ? "" : words.back();
  const std::vector<std::string> before(words.begin(),
                                        words.empty() ? words.end() : words.end() - 1);
  const Command* command = command_of(commands, before);
  const CLI::App& here = command == nullptr ? app : *command->app;
  const CLI::Option* option = before.empty() || !before.back().starts_with("--")
                                  ? nullptr
                                  : here.get_option_no_throw(before.back());
  if (option != nullptr && option->get_type_size() != 0) return values_of(*option, begun);
  if (begun.starts_with("-")) {
    std::vector<Candidate> candidates = options_of(here, begun);
    if (command != nullptr) {
      for (Candidate& each : options_of(app, begun)) {
        if (each.word == "--quiet")
          candidates.push_back(std::move(each));  // the one that a command takes too
      }
    }
    return candidates;
  }
  if (command != nullptr) return places_of(*command->app, before, begun);
  std::vector<Candidate> candidates;
  for (const Command& each : commands) {
    if (!each.app->get_name().starts_with(begun)) continue;
    candidates.push_back({each.app->get_name(), each.app->get_description()});
  }
  return candidates;
}

int print_candidates(const CLI::App& app, const std::vector<Command>& commands,
                     const std::vector<std::string>& words) {
  for (const Candidate& each : complete(app, commands, words))
    out().print("{}\t{}\n", each.word, each.help);
  return kDone;
}

}  // namespace headroom::cli
