// Files that a user names: they may be anything, or change while they are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headroom::sweep {

/// The whole file.
/// @throws FileError that names the path if it is missing, unreadable, no regular file (a FIFO is
///         refused, not waited for), or larger than `max_bytes`.
std::string read_regular_file(const std::filesystem::path& path, std::int64_t max_bytes);

/// Makes or replaces the file.
/// @throws ResourceError that names the path if it cannot be written to the end.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace headroom::sweep
