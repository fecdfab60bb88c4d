#include "record/folder_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom::record {
namespace {

namespace fs = std::filesystem;

// What was opened, or the error of not opening it, when it is something that open() may refuse in
// ways that say little: a FIFO without a reader, a socket, a folder.
void refuse_irregular(const fs::path& path) {
  const int handle = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (handle < 0) return;
  try {
    require_regular_file(handle, path);
  } catch (...) {
    ::close(handle);
    throw;
  }
  ::close(handle);
}

// The folder and its parents, as far as they are not there yet.
std::vector<fs::path> missing(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  fs::path path = fs::absolute(folder, error);
  if (!path.has_filename()) path = path.parent_path();  // "results/"
  for (; path.has_relative_path() && !fs::exists(path, error) && !error;
       path = path.parent_path()) {
    all.push_back(path);
  }
  return all;
}

}  // namespace

void fail_output(const char* doing, const fs::path& path, int error, const char* next) {
  throw ResourceError(
      fmt::format("cannot {} {}: {}; {}", doing, shown_path(path), std::strerror(error), next));
}

int open_output(const fs::path& path, int flags) {
  const int handle = ::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, 0644);
  const int error = errno;
  if (handle < 0) {
    if (error != EEXIST) refuse_irregular(path);
    errno = error;
    return -1;
  }
  try {
    require_regular_file(handle, path);
  } catch (...) {
    ::close(handle);
    throw;
  }
  return handle;
}

fs::path make_folder(const fs::path& folder) {
  const std::vector<fs::path> fresh = missing(folder);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_output("make the folder", folder, error.value(), kNextFolder);
  // The name of a folder stands in its parent.
  for (const fs::path& path : fresh) sync_folder(path.parent_path());
  return folder;
}

void sync_folder(const fs::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = handle < 0 ? errno : 0;
  if (handle >= 0 && ::fsync(handle) != 0) error = errno;
  if (handle >= 0) ::close(handle);
  // File systems that cannot sync a folder say so with EINVAL: there is nothing to wait for.
  if (error != 0 && error != EINVAL) fail_output("sync the folder", folder, error, kNextFolder);
}

}  // namespace headroom::record
