// What is said when the words of the command line cannot be understood.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace headroom::cli {

/// The command that is meant, or null.
const Command* command_of(const std::vector<Command>& commands,
                          const std::vector<std::string>& words);

/// What was found, what is allowed, and the nearest valid name, which the parser's own messages do
/// not say.
std::string usage_message(const CLI::App& app, const std::vector<Command>& commands,
                          const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace headroom::cli
