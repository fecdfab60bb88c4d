// Allows one writer at a time per results folder.
#pragma once

#include <filesystem>

namespace headroom::record {

/// Holds a lock on `sweep.lock` in the folder, which contains the process id for people to read.
/// The kernel releases the lock however the process ends, so a dead process never blocks. The file
/// stays: a lock on a file that another process removed would protect nothing.
class FolderLock {
 public:
  /// @param option what names another folder, for the message
  /// @throws ResourceError naming the process that holds the lock, or why locking failed.
  explicit FolderLock(const std::filesystem::path& folder, const char* option = "--out");
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace headroom::record
