// Small files under /proc and /sys, which may be missing in a container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "headroom/export.h"

namespace headroom::processor {

/// The whole file, or nothing if it cannot be read.
HEADROOM_API std::optional<std::string> read_text(const std::filesystem::path& path);

/// The first line without trailing blanks, or nothing.
HEADROOM_API std::optional<std::string> read_line(const std::filesystem::path& path);

/// The file's first word as a whole number; nothing if it is missing, `max`, or not a number.
HEADROOM_API std::optional<std::int64_t> read_number(const std::filesystem::path& path);

/// The number after `key` in lines such as `MemAvailable:  123 kB`, unscaled.
HEADROOM_API std::optional<std::int64_t> number_after(const std::string& text,
                                                      const std::string& key);

}  // namespace headroom::processor
