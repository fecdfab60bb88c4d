// A file that is either written whole or not at all.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

/// Begins as a hidden file beside its place, so that a folder that cannot be written is known
/// before anything is measured. Without `commit` nothing is left.
class FreshFile {
 public:
  /// @throws ResourceError naming the path if it cannot be made, or if something else than a
  /// regular
  ///         file stands in its place.
  explicit FreshFile(const std::filesystem::path& path);
  ~FreshFile();
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  /// @throws ResourceError if the text cannot be written.
  void write(std::string_view text);

  /// Puts the file in its place, in one step. @throws ResourceError if that fails.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::string fresh_;
  int handle_ = -1;
};

}  // namespace headroom
