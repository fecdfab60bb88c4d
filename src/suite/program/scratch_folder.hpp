// A temporary folder.
#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Removed with the object, by the process that made it: a child that ends early leaves it.
class ScratchFolder {
 public:
  /// @param name what its own name begins with
  /// @throws ResourceError if it cannot be created.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// @throws ResourceError if something else removed it.
  void require() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  long owner_ = 0;
};

}  // namespace headroom
