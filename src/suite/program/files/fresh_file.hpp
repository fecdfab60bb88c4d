// Files that are written whole or not at all: whatever fails, the old one remains.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "program/files/output_folder.hpp"

namespace headroom {

/// The one way in which files are written. It begins as a hidden file in the same folder, so that a
/// folder that cannot be written is known before anything is measured. Without `commit` nothing is
/// left. A file that it replaces keeps its permissions.
class FreshFile {
 public:
  /// @param links whether a link in its place is followed, so that what it leads to is replaced
  /// @throws ResourceError naming the path if it cannot be made, or if something else than a
  ///         writable regular file is in its place.
  explicit FreshFile(const std::filesystem::path& path, Links links = Links::follow);
  ~FreshFile();
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  /// @throws ResourceError if the text cannot be written.
  void write(std::string_view text);

  /// Puts the file in its place, in one step, and on the disk. @throws ResourceError if that fails.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path named_;  // as the user knows it
  std::filesystem::path path_;
  std::string fresh_;  // empty once it has its own name
  int handle_ = -1;
};

/// Creates or replaces the file by a `FreshFile`. What is no regular file, as /dev/stdout, has
/// nothing to lose and is written directly.
/// @throws ResourceError naming the path if it cannot be written completely; the old file stays.
void write_file(const std::filesystem::path& path, std::string_view text,
                Links links = Links::follow);

/// For those who measure first: whether `write_file` could replace the file now. It is left alone.
/// @param text something like what will be written, because a disk may be full; empty for a block
/// @throws ResourceError as `write_file`.
void require_writable(const std::filesystem::path& path, std::string_view text = {},
                      Links links = Links::follow);

/// Removes what processes left that were killed while they replaced the file. For those who hold a
/// lock on its folder, so that no other process is writing there.
void remove_unfinished(const std::filesystem::path& path);

}  // namespace headroom
