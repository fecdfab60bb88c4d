// Runs another program to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// Both its outputs go into `log`. Once this process is told to stop, the program is ended with all
/// that it started; it ends, too, if this process is killed.
/// @return its exit code, or 128 plus the signal that ended it
/// @throws FileError if it cannot be started; ResourceError if `log` cannot be written.
int run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::filesystem::path& log);

}  // namespace headroom
