#include "support/tile_processor.hpp"

#if defined(__x86_64__)

#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "simd/tiles/tile_kernels.hpp"

namespace headroom::test {
namespace {

struct Configuration {
  std::uint8_t palette = 0;
  std::uint8_t other[15] = {};
  std::uint16_t bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(Configuration) == 64);

struct State {
  Configuration configuration;
  alignas(64) unsigned char tiles[8][1024] = {};
};
thread_local State state;
long executed_instructions = 0;
struct sigaction before = {};

std::uint64_t general_register(const ucontext_t& context, unsigned number) {
  static constexpr std::array<int, 16> kPlaces{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                               REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                               REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[kPlaces[number]]);
}

// An instruction with a three-byte VEX prefix of the map 0F38.
struct Instruction {
  unsigned prefix = 0;  // 0 none, 1 66, 2 F3, 3 F2
  unsigned opcode = 0;
  unsigned reg = 0, rm = 0, third = 0;
  bool memory = false;
  unsigned char* address = nullptr;  // without the index, which counts rows
  std::int64_t stride = 0;
  int length = 0;
};

bool decode(ucontext_t& context, Instruction& found) {
  const auto* code = reinterpret_cast<const unsigned char*>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return false;
  const bool high_index = (code[1] & 0x40) == 0;
  const bool high_base = (code[1] & 0x20) == 0;
  found.prefix = code[2] & 3U;
  found.third = ~code[2] >> 3 & 15U;
  found.opcode = code[3];
  const unsigned modrm = code[4];
  found.reg = modrm >> 3 & 7U;
  found.rm = modrm & 7U;
  found.memory = modrm >> 6 != 3;
  found.length = 5;
  if (!found.memory) return true;
  unsigned base = found.rm;
  std::uint64_t address = 0;
  if (base == 4) {
    const unsigned sib = code[found.length++];
    base = sib & 7U;
    const unsigned index = (sib >> 3 & 7U) | (high_index ? 8U : 0U);
    if (index != 4) {
      found.stride = static_cast<std::int64_t>(general_register(context, index)) << (sib >> 6);
    }
  }
  if (base == 5 && modrm >> 6 == 0) {
    std::int32_t displacement = 0;
    std::memcpy(&displacement, code + found.length, 4);
    found.length += 4;
    // Without a base it is relative to the next instruction (a SIB byte without one is not used).
    if (found.rm != 5) return false;
    address = reinterpret_cast<std::uint64_t>(code) + static_cast<unsigned>(found.length) +
              static_cast<std::uint64_t>(std::int64_t{displacement});
  } else {
    address = general_register(context, base | (high_base ? 8U : 0U));
    if (modrm >> 6 == 1) {
      address +=
          static_cast<std::uint64_t>(std::int64_t{static_cast<signed char>(code[found.length++])});
    } else if (modrm >> 6 == 2) {
      std::int32_t displacement = 0;
      std::memcpy(&displacement, code + found.length, 4);
      found.length += 4;
      address += static_cast<std::uint64_t>(std::int64_t{displacement});
    }
  }
  found.address = reinterpret_cast<unsigned char*>(address);
  return true;
}

bool load_configuration(const unsigned char* from) {
  std::memcpy(&state.configuration, from, sizeof(state.configuration));
  std::memset(state.tiles, 0, sizeof(state.tiles));
  return true;
}

bool multiply(const Instruction& instruction, bool fp16) {
  float sums[256];
  std::memcpy(sums, state.tiles[instruction.reg], sizeof(sums));
  std::uint16_t a[512];
  std::uint16_t b[512];
  std::memcpy(a, state.tiles[instruction.rm], sizeof(a));
  std::memcpy(b, state.tiles[instruction.third], sizeof(b));
  if (fp16) {
    simd::emulate_fp16_tile_product(sums, a, b);
  } else {
    simd::emulate_tile_product(sums, a, b);
  }
  std::memcpy(state.tiles[instruction.reg], sums, sizeof(sums));
  return true;
}

bool copy_rows(const Instruction& instruction, bool load) {
  if (instruction.address == nullptr) return false;
  const Configuration& now = state.configuration;
  for (unsigned row = 0; row < now.rows[instruction.reg]; ++row) {
    unsigned char* memory = instruction.address + row * instruction.stride;
    unsigned char* tile = state.tiles[instruction.reg] + row * 64;
    const std::size_t bytes = now.bytes[instruction.reg];
    if (load) {
      std::memcpy(tile, memory, bytes);
    } else {
      std::memcpy(memory, tile, bytes);
    }
  }
  return true;
}

// Whether it is an instruction of tiles, and then does what it says. All but those that configure
// need a configuration, as the processor does.
bool execute(const Instruction& instruction) {
  constexpr unsigned kNone = 0;
  constexpr unsigned k66 = 1;
  constexpr unsigned kF3 = 2;
  constexpr unsigned kF2 = 3;
  if (instruction.opcode == 0x49 && instruction.memory) {
    if (instruction.prefix == kNone) return load_configuration(instruction.address);
    if (instruction.prefix != k66) return false;
    std::memcpy(instruction.address, &state.configuration, sizeof(state.configuration));
    return true;
  }
  if (instruction.opcode == 0x49 && instruction.prefix == kNone) {
    state = {};
    return true;
  }
  if (state.configuration.palette != 1) return false;
  if (instruction.opcode == 0x49 && instruction.prefix == kF2) {
    std::memset(state.tiles[instruction.reg], 0, sizeof(state.tiles[0]));
    return true;
  }
  if (instruction.opcode == 0x4b && instruction.prefix == kF2) return copy_rows(instruction, true);
  if (instruction.opcode == 0x4b && instruction.prefix == kF3) return copy_rows(instruction, false);
  if (instruction.opcode == 0x5c && instruction.prefix == kF3) return multiply(instruction, false);
  if (instruction.opcode == 0x5c && instruction.prefix == kF2) return multiply(instruction, true);
  return false;
}

void on_illegal_instruction(int signal, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  Instruction instruction;
  if (!decode(context, instruction) || !execute(instruction)) {
    ::sigaction(signal, &before, nullptr);  // the instruction is tried again, and ends as it should
    return;
  }
  __atomic_fetch_add(&executed_instructions, 1, __ATOMIC_RELAXED);
  context.uc_mcontext.gregs[REG_RIP] += instruction.length;
}

}  // namespace

TileProcessor::TileProcessor() {
  executed_instructions = 0;
  struct sigaction action = {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGILL, &action, &before);
}

TileProcessor::~TileProcessor() { ::sigaction(SIGILL, &before, nullptr); }

long TileProcessor::executed() const {
  return __atomic_load_n(&executed_instructions, __ATOMIC_RELAXED);
}

bool TileProcessor::configured() const { return state.configuration.palette != 0; }

void configure_as_others_do() {
  alignas(64) Configuration other;
  other.palette = 1;
  for (int tile = 0; tile < 8; ++tile) {
    other.bytes[tile] = 32;
    other.rows[tile] = 5;
  }
  asm volatile("ldtilecfg %0" ::"m"(other) : "memory");
}

int configured_palette() { return state.configuration.palette; }
int configured_rows() { return state.configuration.rows[0]; }

}  // namespace headroom::test

#endif
