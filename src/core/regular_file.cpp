#include "core/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headroom {
namespace {

// Most files are small: to zero a mebibyte for each took longer than to read and understand it.
constexpr std::size_t kFirstRead = std::size_t{64} << 10;

struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      // Without O_NONBLOCK, opening a FIFO would wait for its writer.
      : handle(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenFile() {
    if (handle >= 0) ::close(handle);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int handle;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& found,
                       const char* next) {
  throw FileError(fmt::format("cannot read {}: {}; {}", path.string(), found, next));
}

[[noreturn]] void fail_system(const std::filesystem::path& path, int error) {
  fail(path, std::strerror(error), "check the path and its permissions");
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

std::string read_regular_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  const OpenFile file(path);
  if (file.handle < 0) fail_system(path, errno);
  require_regular_file(file.handle, path);
  // The size is a hint only: the file may grow or shrink meanwhile.
  const auto limit = static_cast<std::size_t>(max_bytes);
  std::string text;
  for (std::size_t length = 0;;) {
    if (length == text.size()) {
      text.resize(std::min(std::max(2 * length, kFirstRead), limit + 1));
    }
    const ssize_t count = ::read(file.handle, text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system(path, errno);
    length += static_cast<std::size_t>(count);
    if (count == 0) {
      text.resize(length);
      return text;
    }
    if (length > limit) {
      fail(path, fmt::format("it is larger than {} bytes", max_bytes),
           "no results file is; name another or split it");
    }
  }
}

}  // namespace headroom
