#include "machine/meters/unit_trial.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/element/fp16_tiles.hpp"

namespace headroom::machine {
namespace {

#if defined(__x86_64__)

// The instruction for fp16 stands in bytes, as in src/library/simd/tiles/amx_unit.hpp: tile 0 += 1
// times 2.
template <bool kFp16>
void multiply_tiles() {
  alignas(64) unsigned char configuration[64] = {};
  configuration[0] = 1;
  for (const int tile : {0, 1, 2}) {
    configuration[16 + 2 * tile] = 64;
    configuration[48 + tile] = 16;
  }
  alignas(64) static unsigned char data[1024];
  asm volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\t"
      "tileloadd (%1,%2,1), %%tmm1\n\t"
      "tileloadd (%1,%2,1), %%tmm2" ::"m"(configuration),
      "r"(data), "r"(64L)
      : "memory");
  if constexpr (kFp16) {
    asm volatile(".byte 0xc4, 0xe2, 0x6b, 0x5c, 0xc1");
  } else {
    asm volatile("tdpbf16ps %tmm2, %tmm1, %tmm0");
  }
  asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease" ::"r"(data), "r"(64L) : "memory");
}

// No clobber is named: the process ends right after it, and a baseline compiler knows no zmm.
void multiply_pairs() { asm volatile("vdpbf16ps %zmm0, %zmm0, %zmm0"); }

#endif

std::string ending(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return "ended before it was done";  // nobody kept its status
  }
  if (WIFSIGNALED(status)) return fmt::format("ended with '{}'", strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

// A byte through a pipe says that it computed, because the status of a child may be lost to
// somebody else's handler.
std::string try_apart(void (*product)()) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return fmt::format("no trial was possible: {}", std::strerror(errno));
  }
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return fmt::format("no child process could try it: {}", std::strerror(error));
  }
  if (child == 0) {
    for (const int signal : {SIGILL, SIGSEGV, SIGBUS}) std::signal(signal, SIG_DFL);
    product();
    const char done = 1;
    _exit(write(ends[1], &done, 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  char done = 0;
  ssize_t bytes = 0;
  do {
    bytes = read(ends[0], &done, 1);
  } while (bytes < 0 && errno == EINTR);
  close(ends[0]);
  const std::string how = ending(child);
  return bytes == 1 ? "" : fmt::format("a trial product {}", how);
}

std::string try_unit(Unit unit) {
#if defined(__x86_64__)
  if (unit == Unit::amx) {
    std::string reason = try_apart(multiply_tiles<false>);
    if (!reason.empty() || fp16_tiles() == Fp16Tiles::none) return reason;
    const std::string of_fp16 = try_apart(multiply_tiles<true>);
    return of_fp16.empty() ? "" : of_fp16 + " (of fp16; HEADROOM_AMX_FP16=0 leaves those out)";
  }
  if (unit == Unit::avx512_bf16) return try_apart(multiply_pairs);
#endif
  static_cast<void>(unit);
  return "";
}

}  // namespace headroom::machine
