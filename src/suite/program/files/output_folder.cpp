#include "program/files/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom {
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

// What is added to it or cut off would be so under all its names.
void refuse_other_names(int handle, const fs::path& path) {
  struct stat status {};
  if (::fstat(handle, &status) != 0 || status.st_nlink <= 1) return;
  throw ResourceError(
      fmt::format("cannot write {}: it is a hard link, and the file has {} names; replace it by a "
                  "copy and start again",
                  shown_path(path), status.st_nlink));
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

void refuse_link(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return;
  throw ResourceError(
      fmt::format("cannot write {}: it is a symbolic link, and what it leads to is not ours; "
                  "remove the link and start again",
                  shown_path(path)));
}

int open_output(const fs::path& path, int flags) {
  const int handle = ::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0644);
  const int error = errno;
  if (handle < 0) {
    refuse_link(path);
    if (error != EEXIST) refuse_irregular(path);
    errno = error;
    return -1;
  }
  try {
    require_regular_file(handle, path);
    refuse_other_names(handle, path);
  } catch (...) {
    ::close(handle);
    throw;
  }
  return handle;
}

int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

fs::path make_folder(const fs::path& folder, const char* next) {
  const std::vector<fs::path> fresh = missing(folder);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_output("make the folder", folder, error.value(), next);
  if (!fs::is_directory(folder, error)) fail_output("make the folder", folder, ENOTDIR, next);
  // The name of a folder stands in its parent.
  for (const fs::path& path : fresh) sync_folder(path.parent_path());
  return folder;
}

fs::path make_inner_folder(const fs::path& folder, const char* next) {
  refuse_link(folder);
  return make_folder(folder, next);
}

void sync_folder(const fs::path& folder) {
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  const int handle = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder may be for writing only; then it cannot be synced.
  if (handle < 0 && errno == EACCES) return;
  int error = handle < 0 ? errno : 0;
  if (handle >= 0 && ::fsync(handle) != 0) error = errno;
  if (handle >= 0) ::close(handle);
  // File systems that cannot sync a folder say so with EINVAL: there is nothing to wait for.
  if (error != 0 && error != EINVAL) {
    fail_output("sync the folder", place, error, "check the disk and start again");
  }
}

}  // namespace headroom
