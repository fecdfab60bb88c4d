// What a shell may complete a command line with; the scripts in cmake/completions ask.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace headroom::cli {

/// One way to go on.
struct Candidate {
  std::string word;
  std::string help;
};

/// How the last of `words`, which may be empty, can end. Empty where a file or folder may stand, or
/// any text.
std::vector<Candidate> complete(const CLI::App& app, const std::vector<Command>& commands,
                                const std::vector<std::string>& words);

/// Prints them, one a line, each with a tab and its help.
int print_candidates(const CLI::App& app, const std::vector<Command>& commands,
                     const std::vector<std::string>& words);

}  // namespace headroom::cli
