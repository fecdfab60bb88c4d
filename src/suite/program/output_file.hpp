// Writes files that a user names; `core/regular_file.hpp` reads them.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/regular_file.hpp"

namespace headroom {

/// Creates or replaces the file.
/// @throws ResourceError naming the path if it cannot be written completely.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace headroom
