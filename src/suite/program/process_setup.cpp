#include "program/process_setup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace headroom {
namespace {

constexpr const char* kPolicy = "OMP_WAIT_POLICY";
constexpr const char* kMark = "HEADROOM_OPENMP_RESTARTED";

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

void open_standard_files() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) != -1) continue;
    // open() returns the lowest free descriptor, which is this one.
    if (open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY) < 0) return;
  }
}

void restart_with_passive_openmp(char** arguments) {
  if (is_set(kPolicy) || is_set("GOMP_SPINCOUNT") || is_set("KMP_BLOCKTIME")) return;
  if (setenv(kPolicy, "passive", 1) != 0 || setenv(kMark, "1", 1) != 0) return;
  execv("/proc/self/exe", arguments);
  unsetenv(kPolicy);  // the restart failed, and the record must not claim what had no effect
  unsetenv(kMark);
}

std::string openmp_wait_policy() {
  const char* policy = std::getenv(kPolicy);
  if (policy == nullptr) return "default";
  return std::string(policy) + (is_set(kMark) ? " (set by headroom)" : " (set by the user)");
}

}  // namespace headroom
