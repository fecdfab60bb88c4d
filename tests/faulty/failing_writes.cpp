// Loaded into the program (LD_PRELOAD): lets the k-th write, sync, rename, cut or creation of a
// file or a folder fail, or kills the process there. HEADROOM_TEST_FAULT says how and where, such
// as `error:3`, `full:3` (and all after it fail as well) or `kill:3`; HEADROOM_TEST_FAULT_MARK
// names a file that appears when the place was reached.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

enum class Fault { none, error, full, kill };

Fault fault = Fault::none;
long place = 0;
long seen = 0;
pid_t process = 0;
const char* mark = nullptr;

__attribute__((constructor)) void read_plan() {
  const char* plan = std::getenv("HEADROOM_TEST_FAULT");
  mark = std::getenv("HEADROOM_TEST_FAULT_MARK");
  unsetenv("LD_PRELOAD");  // what the program starts is not meant
  if (plan == nullptr || mark == nullptr) return;
  if (std::strncmp(plan, "error:", 6) == 0) fault = Fault::error;
  if (std::strncmp(plan, "full:", 5) == 0) fault = Fault::full;
  if (std::strncmp(plan, "kill:", 5) == 0) fault = Fault::kill;
  place = std::strtol(std::strchr(plan, ':') + 1, nullptr, 10);
  process = getpid();
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Processes that are forked to measure write nothing that stays.
bool fails() {
  if (fault == Fault::none || getpid() != process) return false;
  ++seen;
  if (fault == Fault::full ? seen < place : seen != place) return false;
  const long handle = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT, 0600);
  syscall(SYS_close, handle);
  return true;
}

// Half of what was to be written is there, as when a disk runs full or a process dies.
int fail_with(int error) {
  if (fault == Fault::kill) raise(SIGKILL);
  errno = error;
  return -1;
}

bool is_file(int handle) {
  struct stat status {};
  return handle > 2 && fstat(handle, &status) == 0 && S_ISREG(status.st_mode);
}

bool is_output(int handle) {
  struct stat status {};
  return handle > 2 && fstat(handle, &status) == 0 &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name, cert-dcl50-cpp): those of libc
ssize_t write(int handle, const void* bytes, size_t count) {
  if (is_file(handle) && fails()) {
    (void)!syscall(SYS_write, handle, bytes, count / 2);
    return fail_with(ENOSPC);
  }
  return syscall(SYS_write, handle, bytes, count);
}

int fsync(int handle) {
  if (is_output(handle) && fails()) return fail_with(EIO);
  return static_cast<int>(syscall(SYS_fsync, handle));
}

int rename(const char* from, const char* to) noexcept {
  if (fails()) return fail_with(EIO);
  return real<int(const char*, const char*)>("rename")(from, to);
}

int ftruncate(int handle, off_t length) noexcept {
  if (is_file(handle) && fails()) return fail_with(EIO);
  return real<int(int, off_t)>("ftruncate")(handle, length);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (fails()) return fail_with(ENOSPC);
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int mkostemp(char* path, int flags) {
  if (fails()) return fail_with(ENOSPC);
  return real<int(char*, int)>("mkostemp")(path, flags);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (fails()) return fail_with(ENOSPC);
  }
  return real<int(const char*, int, ...)>("open")(path, flags, mode);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name, cert-dcl50-cpp)

}  // extern "C"
