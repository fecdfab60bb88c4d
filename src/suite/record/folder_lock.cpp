#include "record/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/text/shown.hpp"
#include "program/exit_code.hpp"
#include "program/files/output_folder.hpp"

namespace headroom::record {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string holder_of(int file) {
  struct flock lock = whole_file();
  if (fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0) {
    return fmt::format("process {}", lock.l_pid);
  }
  // The process runs on another machine with a shared file system; only its own note names it.
  char note[64] = {};
  const ssize_t count = pread(file, note, sizeof note - 1, 0);
  return count > 0 ? fmt::format("process {}", shown_text({note, strcspn(note, "\n")}))
                   : std::string("another process");
}

}  // namespace

// fcntl rather than flock: this lock names its holder, and a worker process does not inherit it.
FolderLock::FolderLock(const std::filesystem::path& folder, const char* option) {
  const std::filesystem::path path = folder / "sweep.lock";
  file_ = open_output(path, O_RDWR | O_CREAT);
  if (file_ < 0) {
    throw ResourceError(fmt::format("cannot write {}: {}; choose another folder with {}",
                                    shown_path(path), std::strerror(errno), option));
  }
  struct flock lock = whole_file();
  if (fcntl(file_, F_SETLK, &lock) != 0) {
    const int error = errno;
    const std::string holder = holder_of(file_);
    ::close(file_);
    if (error == EACCES || error == EAGAIN) {
      throw ResourceError(
          fmt::format("{} is being written by {}; wait for it or choose another folder with {}",
                      shown_path(folder), holder, option));
    }
    throw ResourceError(fmt::format("cannot lock {}: {}; choose a folder on another file system",
                                    shown_path(path), std::strerror(error)));
  }
  const std::string note = fmt::format("{}\n", getpid());
  // For people only, so a full disk is no error here; the first result will report it.
  if (ftruncate(file_, 0) == 0) (void)!pwrite(file_, note.data(), note.size(), 0);
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace headroom::record
