#include "distributed/process_life.hpp"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace headroom::distributed {

ProcessId this_process() {
  struct stat info {};
  const bool known = stat("/proc/self/ns/pid", &info) == 0;
  return {getpid(), known ? static_cast<std::uint64_t>(info.st_ino) : 0};
}

bool has_ended(const ProcessId& process) {
  return process.numbers == this_process().numbers &&
         kill(static_cast<pid_t>(process.number), 0) != 0 && errno == ESRCH;
}

}  // namespace headroom::distributed
