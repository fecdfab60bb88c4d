// Files that a user names. They may be anything, and may change while they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "headroom/error.hpp"
#include "headroom/export.h"

namespace headroom {

/// @throws FileError that names the path if what was opened is no regular file.
HEADROOM_API void require_regular_file(int handle, const std::filesystem::path& path);

/// A file that is open for reading.
class HEADROOM_API RegularFile {
 public:
  /// @throws FileError that names the path if it is missing, unreadable, or not a regular file (a
  ///         FIFO is refused without waiting).
  explicit RegularFile(std::filesystem::path path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Bytes, when it was opened.
  std::int64_t size() const { return size_; }
  /// @return the bytes that were there: fewer only at the end of the file
  /// @throws FileError if the system cannot read.
  std::size_t read(std::int64_t offset, std::span<char> into) const;

 private:
  std::filesystem::path path_;
  int handle_;
  std::int64_t size_ = 0;
};

/// The whole file.
/// @throws FileError that names the path if it is missing, unreadable, not a regular file (a FIFO
///         is refused without waiting), or larger than `max_bytes`.
HEADROOM_API std::string read_regular_file(const std::filesystem::path& path,
                                           std::int64_t max_bytes);

}  // namespace headroom
