#include "measure/workers/process_end.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace headroom::measure {
namespace {

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", number);
}

}  // namespace

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) {
    return fmt::format("ended the process with exit code {}", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  const char* meaning =
      number == SIGKILL ? "killed, probably because memory ran out" : strsignal(number);
  return fmt::format("died of {} ({})", signal_name(number), meaning);
}

}  // namespace headroom::measure
