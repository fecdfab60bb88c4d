// Files that a user names. They may be anything, and may change while they are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "headroom/export.h"

namespace headroom {

/// A file that is missing, cannot be read, or does not hold what it should.
class HEADROOM_API FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// @throws FileError that names the path if what was opened is no regular file.
HEADROOM_API void require_regular_file(int handle, const std::filesystem::path& path);

/// The whole file.
/// @throws FileError that names the path if it is missing, unreadable, not a regular file (a FIFO
///         is refused without waiting), or larger than `max_bytes`.
HEADROOM_API std::string read_regular_file(const std::filesystem::path& path,
                                           std::int64_t max_bytes);

}  // namespace headroom
