// Runs another program to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// Both its outputs go into `log`. @return its exit code, or 128 plus the signal that ended it
/// @throws FileError if it cannot be started.
int run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::filesystem::path& log);

}  // namespace headroom
