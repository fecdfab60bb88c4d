// Files that a user names; reading them is `core/regular_file.hpp`'s.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/regular_file.hpp"

namespace headroom {

/// Makes or replaces the file.
/// @throws ResourceError that names the path if it cannot be written to the end.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace headroom
