#include "cli/line/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/nearest.hpp"

namespace headroom::cli {
namespace {

using Words = std::vector<std::string>;

std::string name_in(const std::string& word) { return word.substr(0, word.find('=')); }

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

const CLI::Option* option_of(const CLI::App& app, const std::string& word) {
  return is_option(word) ? app.get_option_no_throw(name_in(word)) : nullptr;
}

// `--heads LIST`, or `DIR`.
std::string as_in_help(const CLI::Option& option) {
  const std::string& value = option.get_option_text();
  return value.find_first_not_of(' ') == std::string::npos
             ? option.get_name()
             : fmt::format("{} {}", option.get_name(), value);
}

// A question ends the sentence, so that what to read comes after it.
std::string unknown_option(const CLI::App& app, const CLI::App& here, const Words& words) {
  std::vector<std::string> known = option_names(here);
  for (std::string& name : option_names(app)) known.push_back(std::move(name));
  for (const std::string& word : words) {
    if (!word.starts_with("--") || word == "--") continue;
    const std::string name = name_in(word).substr(2);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    // The whole list would fill the screen, and --help shows it in order.
    const std::optional<std::string> meant = nearest_name(name, known);
    return fmt::format("unknown option '--{}'{}", name,
                       meant ? fmt::format("; did you mean '--{}'?", *meant) : "");
  }
  return "";
}

// A word that no option takes and that has no place of its own.
std::string stray_word(const CLI::App& command, const Words& words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const CLI::Option* option = option_of(command, words[i - 2]);
    if (option == nullptr || option->get_type_size() == 0 || is_option(words[i - 1]) ||
        is_option(words[i]) || words[i - 2].find('=') != std::string::npos) {
      continue;
    }
    const std::string& value = option->get_option_text();
    if (value != "LIST" && value != "NAMES") continue;
    return fmt::format("'{}' is not expected here; separate the values of {} by commas: {} {},{}",
                       words[i], option->get_name(), option->get_name(), words[i - 1], words[i]);
  }
  return "";
}

// The parser says which option only within its text.
const CLI::Option* option_named_in(const CLI::App& command, std::string_view text) {
  const CLI::Option* longest = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (text.find(name) == std::string_view::npos) continue;
    if (longest == nullptr || name.size() > longest->get_name().size()) longest = option;
  }
  return longest;
}

std::string wrong_count(const CLI::Option& option, const Words& words) {
  const auto times = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return name_in(word) == option.get_name();
  });
  if (option.get_expected_min() == 0) {  // a flag
    return fmt::format("{} takes no value; give it alone", option.get_name());
  }
  if (times > 1) return fmt::format("{} is given {} times; give it once", option.get_name(), times);
  return fmt::format("{} needs a value: {}", option.get_name(), as_in_help(option));
}

// By type: some of them carry the name of a command instead of their own.
template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::string in_our_words(const CLI::App& command, const CLI::ParseError& error,
                         const Words& words) {
  std::string text = error.what();
  if (is<CLI::ExtrasError>(error)) {
    std::string stray = stray_word(command, words);
    if (!stray.empty()) return stray;
    return fmt::format("not expected: {}", text.substr(text.find(": ") + 2));
  }
  const CLI::Option* option = option_named_in(command, text);
  if (option == nullptr) return text;
  if (is<CLI::ArgumentMismatch>(error) || is<CLI::ConversionError>(error)) {
    return wrong_count(*option, words);
  }
  if (is<CLI::RequiredError>(error)) {
    return fmt::format("{} is missing: {}", as_in_help(*option), option->get_description());
  }
  if (is<CLI::ExcludesError>(error)) {
    std::string names;
    for (const CLI::Option* other : option->get_excludes()) names += " and " + other->get_name();
    return fmt::format("{}{} exclude each other; give one of them", option->get_name(), names);
  }
  return text;
}

}  // namespace

const Command* command_of(const std::vector<Command>& commands, const Words& words) {
  for (const std::string& word : words) {
    if (is_option(word)) continue;
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& each) {
      return each.app->get_name() == word;
    });
    return found == commands.end() ? nullptr : &*found;
  }
  return nullptr;
}

std::string usage_message(const CLI::App& app, const std::vector<Command>& commands,
                          const CLI::ParseError& error, const Words& words) {
  const Command* command = command_of(commands, words);
  const auto first = std::find_if_not(words.begin(), words.end(), is_option);
  if (command == nullptr && first != words.end()) {
    std::vector<std::string> names;
    for (const Command& each : commands) names.push_back(each.app->get_name());
    return fmt::format("unknown command '{}'; {}", *first, suggest(*first, names));
  }
  const CLI::App& here = command == nullptr ? app : *command->app;
  std::string message = unknown_option(app, here, words);
  if (message.empty() && command == nullptr) message = "no command is given";
  if (message.empty()) message = in_our_words(here, error, words);
  const bool asks = message.ends_with('?');
  return fmt::format("{}{} headroom {}--help", message, asks ? " See" : "; see",
                     command == nullptr ? "" : here.get_name() + " ");
}

}  // namespace headroom::cli
