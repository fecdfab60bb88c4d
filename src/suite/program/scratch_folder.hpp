// A temporary folder.
#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Removed with the object.
class ScratchFolder {
 public:
  /// @param name what its own name begins with
  /// @throws ResourceError if it cannot be created.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace headroom
