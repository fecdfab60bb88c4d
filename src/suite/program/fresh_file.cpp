#include "program/fresh_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// Where a link leads, so that the file is replaced and not the link.
fs::path place_of(const fs::path& path) {
  std::error_code error;
  fs::path place = fs::weakly_canonical(path, error);
  return error ? path : place;
}

[[noreturn]] void fail_at(const fs::path& path, const std::string& found) {
  throw ResourceError(
      fmt::format("cannot write {}: {}; check the folder and its free space or name another file",
                  shown_path(path), found));
}

}  // namespace

FreshFile::FreshFile(const fs::path& path) : path_(place_of(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail_at(path_, "it exists and is not a regular file");
  }
  fresh_ = (path_.parent_path() / fmt::format(".{}.XXXXXX", path_.filename().string())).string();
  handle_ = ::mkostemp(fresh_.data(), O_CLOEXEC);
  if (handle_ < 0) fail(errno);
  // mkostemp makes it for its owner alone.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(handle_, 0666 & ~mask);
}

FreshFile::~FreshFile() {
  if (handle_ < 0) return;
  ::close(handle_);
  ::unlink(fresh_.c_str());
}

void FreshFile::fail(int error) const { fail_at(path_, std::strerror(error)); }

void FreshFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(handle_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void FreshFile::commit() {
  if (::fsync(handle_) != 0 && errno != EINVAL) fail(errno);
  if (::rename(fresh_.c_str(), path_.c_str()) != 0) fail(errno);
  ::close(std::exchange(handle_, -1));
}

}  // namespace headroom
