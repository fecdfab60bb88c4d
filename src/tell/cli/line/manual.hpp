// The page of `man headroom`, from the same descriptions as --help.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace headroom::cli {

/// In roff, for docs/headroom.1.
std::string manual(const CLI::App& app, const std::vector<Command>& commands);

}  // namespace headroom::cli
