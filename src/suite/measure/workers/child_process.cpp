#include "measure/workers/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "processor/text_file.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

constexpr int kOrphaned = 70;

// Ctrl-C, and the end of a terminal, reach every process of it; only the parent handles it.
void leave_signals_to_parent() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
}

// If the whole machine is out of memory, the kernel should kill the worker rather than the parent
// or an unrelated process.
void volunteer_for_oom_killer() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, "1000", 4);
  close(file);
}

// Limits what the group may hold in addition to what the program has already. The margin covers
// thread stacks, the libraries' own tables and the code that they generate, so that cells within
// their estimate never reach the limit. RLIMIT_DATA rather than RLIMIT_AS: address space that is
// only reserved, as allocators do for every thread, costs nothing.
void limit_memory(std::int64_t bytes) {
  constexpr std::int64_t kMargin = std::int64_t{1} << 30;
  const auto status = processor::read_text("/proc/self/status");
  const auto held = processor::number_after(status.value_or(""), "VmData:");
  rlimit limit{};
  if (!held || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  std::int64_t most = 0;
  if (__builtin_add_overflow(*held * 1024 + kMargin, bytes, &most)) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(most));
  setrlimit(RLIMIT_DATA, &limit);
}

[[noreturn]] void refuse(const char* purpose, int error) {
  throw ResourceError(fmt::format("cannot start {}: {}; raise the process limit (ulimit -u)",
                                  purpose, std::strerror(error)));
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", number);
}

}  // namespace

// Without its parent it would work for nothing.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kOrphaned);
}

int wait_for_end(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) {
    return fmt::format("ended the process with exit code {}", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  const char* meaning =
      number == SIGKILL ? "killed, probably because memory ran out" : strsignal(number);
  return fmt::format("died of {} ({})", signal_name(number), meaning);
}

ChildProcess::ChildProcess(const char* purpose, std::int64_t memory_bytes,
                           const std::function<void(int socket)>& work) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) refuse(purpose, errno);
  const pid_t parent = getpid();
  process_ = fork();
  const int error = errno;
  if (process_ == 0) {
    ::close(sockets[0]);
    die_with(parent);
    leave_signals_to_parent();
    volunteer_for_oom_killer();
    limit_memory(memory_bytes);
    work(sockets[1]);
    _exit(0);
  }
  ::close(sockets[1]);
  socket_ = sockets[0];
  if (process_ > 0) return;
  ::close(socket_);
  refuse(purpose, error);
}

ChildProcess::~ChildProcess() {
  ::close(socket_);
  if (process_ > 0) kill(process_, SIGKILL);
  wait();
}

int ChildProcess::wait() {
  if (process_ <= 0) return 0;
  const int status = wait_for_end(process_);
  process_ = 0;
  return status;
}

}  // namespace headroom::measure
