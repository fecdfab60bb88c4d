#include "processor/unit_facts.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "built_levels.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
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

TileFacts find_tile_facts() {
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
  return facts;
}

#else

TileFacts find_tile_facts() { return {}; }

#endif

UnitFacts find_facts() {
  UnitFacts facts;
#if defined(__x86_64__)
  __builtin_cpu_init();
  facts.avx512_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
  facts.byte_dots = __builtin_cpu_supports("avx512vnni") != 0;
#elif defined(__aarch64__) && defined(__linux__)
  // The code for them may hold what Armv8.2 has besides, see simd/CMakeLists.txt.
  constexpr std::uint64_t kNeeded = HWCAP_ASIMDDP | HWCAP_ASIMDRDM | HWCAP_ATOMICS | HWCAP_CRC32;
  facts.byte_dots = (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#endif
  facts.tiles = find_tile_facts();
  return facts;
}

std::string why_no_tiles(const TileFacts& facts) {
  if (!facts.tiles) return "this processor has no tiles (AMX)";
  if (!facts.bf16) return "this processor's tiles (AMX) do not multiply bfloat16";
  if ((facts.enabled & kTileRegisters) != kTileRegisters) {
    return "the operating system does not save tile registers (AMX); Linux does from 5.16 on";
  }
  if (facts.palettes == 0) return "the hypervisor hides the palette of tiles (AMX)";
  if (facts.permission == 0) return "";
  return fmt::format("the kernel does not let this process use tiles (AMX): {}",
                     std::strerror(facts.permission));
}

bool is_built([[maybe_unused]] Unit unit) {  // aarch64 has none
  bool built = false;
#define HEADROOM_IS_UNIT(each) built = built || unit == Unit::each;
  HEADROOM_EACH_UNIT(HEADROOM_IS_UNIT)
#undef HEADROOM_IS_UNIT
  return built;
}

}  // namespace

const UnitFacts& unit_facts() {
  static const UnitFacts facts = find_facts();
  return facts;
}

std::string why_no_unit(Unit unit, Isa isa, const UnitFacts& facts) {
  if (unit == Unit::none || unit == Unit::emulated) return "";
  std::string reason = unit == Unit::amx ? why_no_tiles(facts.tiles)
                       : facts.avx512_bf16
                           ? ""
                           : "this processor has no products of bfloat16 vectors (AVX512_BF16)";
  if (!reason.empty()) return reason;
  if (isa != Isa::avx512) {
    return fmt::format("code for it is of level avx512, and the level is {}", to_string(isa));
  }
  if (is_built(unit)) return "";
  return "this build is for a processor without it; compile with -DHEADROOM_LEVELS=all";
}

std::vector<Unit> units_of(Isa isa, const UnitFacts& facts) {
  std::vector<Unit> units;
  for (const Unit unit : {Unit::emulated, Unit::none, Unit::avx512_bf16, Unit::amx}) {
    if (why_no_unit(unit, isa, facts).empty()) units.push_back(unit);
  }
  return units;
}

}  // namespace headroom
