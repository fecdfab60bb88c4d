#include "machine/tile_support.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/environment_variable.hpp"
#include "headroom/error.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace headroom {
namespace {

constexpr std::uint64_t kTileRegisters = 3ULL << 17;  // their configuration and their data

#if defined(__x86_64__) && defined(__linux__)

std::uint64_t enabled_registers() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

int ask_permission() {
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0 ? 0 : errno;
}

// One product of two tiles, in a child process: it alone dies if the processor, its hypervisor or
// its emulator refuses.
int probe_product() {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    for (const int signal : {SIGILL, SIGSEGV, SIGBUS}) std::signal(signal, SIG_DFL);
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
        "tileloadd (%1,%2,1), %%tmm2\n\t"
        "tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\t"
        "tilestored %%tmm0, (%1,%2,1)\n\t"
        "tilerelease" ::"m"(configuration),
        "r"(data), "r"(64L)
        : "memory");
    _exit(0);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

TileFacts find_facts() {
  TileFacts facts;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return facts;
  facts.tiles = (d >> 24 & 1) != 0;
  facts.bf16 = (d >> 22 & 1) != 0;
  if (!facts.tiles || !facts.bf16) return facts;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 27 & 1) != 0) {
    facts.enabled = enabled_registers();
  }
  if (__get_cpuid_count(0x1d, 0, &a, &b, &c, &d) != 0) facts.palettes = a;
  if ((facts.enabled & kTileRegisters) != kTileRegisters || facts.palettes == 0) return facts;
  facts.permission = ask_permission();
  if (facts.permission == 0) facts.probe = probe_product();
  return facts;
}

std::string probe_failure(int status) {
  if (status == -1) return "no child process could try them";
  if (WIFSIGNALED(status)) {
    return fmt::format("a product of two tiles ended with '{}'", strsignal(WTERMSIG(status)));
  }
  return fmt::format("a product of two tiles ended with status {}", status);
}

#else

TileFacts find_facts() { return {}; }
std::string probe_failure(int) { return "not tried here"; }

#endif

TileSupport find_support() {
  const std::string wish = environment("HEADROOM_TILES");
  if (!wish.empty() && wish != "emulated") {
    throw Unavailable(
        fmt::format("HEADROOM_TILES is '{}'; allowed is 'emulated', which is for tests", wish));
  }
  if (wish == "emulated") return {true, true, "HEADROOM_TILES asks for emulated tiles"};
  std::string reason = why_no_tiles(find_facts());
  return {reason.empty(), false, reason};
}

}  // namespace

std::string why_no_tiles(const TileFacts& facts) {
  if (!facts.tiles) return "this processor has no tiles (AMX)";
  if (!facts.bf16) return "this processor's tiles (AMX) do not multiply bfloat16";
  if ((facts.enabled & kTileRegisters) != kTileRegisters) {
    return "the operating system does not save tile registers (AMX); Linux does from 5.16 on";
  }
  if (facts.palettes == 0) return "the hypervisor hides the palette of tiles (AMX)";
  if (facts.permission != 0) {
    return fmt::format("the kernel does not let this process use tiles (AMX): {}",
                       std::strerror(facts.permission));
  }
  return facts.probe == 0 ? "" : probe_failure(facts.probe);
}

const TileSupport& tile_support() {
  static const TileSupport support = find_support();
  return support;
}

}  // namespace headroom
