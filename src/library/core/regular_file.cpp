#include "core/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text/shown.hpp"

namespace headroom {
namespace {

// Most files are small: to zero a mebibyte for each took longer than to read and understand it.
constexpr std::size_t kFirstRead = std::size_t{64} << 10;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& found,
                       const char* next) {
  throw FileError(fmt::format("cannot read {}: {}; {}", shown_path(path), found, next));
}

[[noreturn]] void fail_system(const std::filesystem::path& path, int error) {
  fail(path, std::strerror(error), "check the path and its permissions");
}

[[noreturn]] void fail_large(const std::filesystem::path& path, std::int64_t max_bytes) {
  fail(path, fmt::format("it is larger than {} bytes", max_bytes),
       "no file that is read whole is that large; name another or split it");
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory";
  if (S_ISFIFO(mode)) return "it is a FIFO";
  if (S_ISSOCK(mode)) return "it is a socket";
  return "it is a device";
}

}  // namespace

void require_regular_file(int handle, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(handle, &status) != 0) fail_system(path, errno);
  if (!S_ISREG(status.st_mode)) {
    fail(path, kind_of(status.st_mode), "a regular file is expected; name another");
  }
}

// Without O_NONBLOCK, opening a FIFO would wait for its writer.
RegularFile::RegularFile(std::filesystem::path path)
    : path_(std::move(path)), handle_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (handle_ < 0) fail_system(path_, errno);
  try {
    require_regular_file(handle_, path_);
  } catch (...) {
    ::close(handle_);
    throw;
  }
  size_ = ::lseek(handle_, 0, SEEK_END);
}

RegularFile::~RegularFile() { ::close(handle_); }

std::size_t RegularFile::read(std::int64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(handle_, into.data() + done, into.size() - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system(path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::string read_regular_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  const RegularFile file(path);
  // Before anything is read: a sparse file of any size costs nothing to make.
  if (file.size() > max_bytes) fail_large(path, max_bytes);
  // But not by the size it had: it may grow or shrink meanwhile.
  const auto limit = static_cast<std::size_t>(max_bytes);
  std::string text;
  for (std::size_t length = 0;;) {
    text.resize(std::min(std::max(2 * length, kFirstRead), limit + 1));
    const std::size_t wanted = text.size() - length;
    const std::size_t count =
        file.read(static_cast<std::int64_t>(length), {text.data() + length, wanted});
    length += count;
    if (count < wanted) {
      text.resize(length);
      return text;
    }
    if (length > limit) fail_large(path, max_bytes);
  }
}

}  // namespace headroom
