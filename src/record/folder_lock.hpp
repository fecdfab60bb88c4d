// One writer at a time for a results folder.
#pragma once

#include <filesystem>

namespace headroom::record {

/// Holds `sweep.lock` in the folder, in which the process id stands for people to see. The kernel
/// takes the lock back when the process ends, however it ends: a dead process never blocks. The
/// file stays; a lock on a file that another process removed would guard nothing.
class FolderLock {
 public:
  /// @throws ResourceError that names the process that holds it, or why there is no lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace headroom::record
