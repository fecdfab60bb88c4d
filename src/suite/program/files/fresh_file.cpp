#include "program/files/fresh_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNext = "check the folder and its free space or name another file";

// Of the hidden file, without the letters that are drawn.
std::string hidden_name(const fs::path& path) {
  constexpr std::size_t kLongest = 200;  // a name with more around it must still be one
  return "." + path.filename().string().substr(0, kLongest) + ".";
}

constexpr std::string_view kDrawn = "XXXXXX";

// Where a link leads, so that the file is replaced and not the link.
fs::path place_of(const fs::path& path) {
  std::error_code error;
  fs::path place = fs::weakly_canonical(path, error);
  return error ? path : place;
}

[[noreturn]] void fail_at(const fs::path& path, const std::string& found) {
  throw ResourceError(fmt::format("cannot write {}: {}; {}", shown_path(path), found, kNext));
}

// What is to be replaced. A file that its owner protected is none of ours, though its folder allows
// to replace it.
std::optional<struct stat> old_file(const fs::path& path, const fs::path& named) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) fail_at(named, "it exists and is not a regular file");
  if (::access(path.c_str(), W_OK) != 0) fail_at(named, std::strerror(errno));
  return status;
}

// mkostemp makes files for their owner alone.
void set_permissions(int handle, const std::optional<struct stat>& old) {
  if (old) {
    (void)!::fchown(handle, old->st_uid, old->st_gid);  // only the superuser can, and need
    ::fchmod(handle, old->st_mode & 0777);
    return;
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(handle, 0666 & ~mask);
}

// Devices and pipes: what was written to them cannot be replaced.
bool is_stream(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::is_character_file(status) || fs::is_fifo(status);
}

void write_stream(const fs::path& path, std::string_view text) {
  // Opening a pipe without a reader would block.
  const int handle = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int error = handle < 0 ? errno : 0;
  if (error == 0) {
    ::fcntl(handle, F_SETFL, ::fcntl(handle, F_GETFL) & ~O_NONBLOCK);
    error = write_all(handle, text);
    if (::close(handle) != 0 && error == 0) error = errno;
  }
  if (error != 0) fail_at(path, std::strerror(error));
}

}  // namespace

FreshFile::FreshFile(const fs::path& path, Links links)
    : named_(path), path_(links == Links::follow ? place_of(path) : path) {
  if (links == Links::refuse) refuse_link(path_);
  const std::optional<struct stat> old = old_file(path_, named_);
  std::string fresh = (path_.parent_path() / hidden_name(path_).append(kDrawn)).string();
  handle_ = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (handle_ < 0) fail(errno);
  fresh_ = std::move(fresh);
  set_permissions(handle_, old);
}

FreshFile::~FreshFile() {
  if (handle_ >= 0) ::close(handle_);
  if (!fresh_.empty()) ::unlink(fresh_.c_str());
}

void FreshFile::fail(int error) const { fail_output("write", named_, error, kNext); }

void FreshFile::write(std::string_view text) {
  if (const int error = write_all(handle_, text); error != 0) fail(error);
}

void FreshFile::commit() {
  if (::fsync(handle_) != 0 && errno != EINVAL) fail(errno);
  // Some file systems say only now that there was no space.
  if (::close(std::exchange(handle_, -1)) != 0 && errno != EINTR) fail(errno);
  if (::rename(fresh_.c_str(), path_.c_str()) != 0) fail(errno);
  fresh_.clear();
  sync_folder(path_.parent_path());
}

void write_file(const fs::path& path, std::string_view text, Links links) {
  if (links == Links::follow && is_stream(path)) return write_stream(path, text);
  FreshFile file(path, links);
  file.write(text);
  file.commit();
}

void require_writable(const fs::path& path, std::string_view text, Links links) {
  if (links == Links::follow && is_stream(path)) return;
  constexpr std::size_t kBlock = 4096;
  FreshFile(path, links).write(text.empty() ? std::string(kBlock, '\0') : std::string(text));
}

void remove_unfinished(const fs::path& path) {
  const std::string name = hidden_name(path);
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string found = entry->path().filename().string();
    if (found.size() == name.size() + kDrawn.size() && found.starts_with(name)) {
      unfinished.push_back(entry->path());
    }
  }
  for (const fs::path& each : unfinished) fs::remove(each, error);
}

}  // namespace headroom
