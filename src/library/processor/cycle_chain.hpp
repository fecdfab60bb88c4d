// Instructions whose number gives the cycles that they took.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "headroom/export.h"

namespace headroom::processor {

/// Instructions that each wait for the one before, so that their number gives the cycles.
struct CycleChain {
  /// Runs iterations of the chain. @return the last link, so that no part of the chain can be
  /// optimised away.
  std::function<std::uint32_t(std::int64_t iterations)> run;
  std::int64_t links = 0;      ///< instructions per iteration
  double cycles_per_link = 0;  ///< as the processor vendors publish it
  std::string instruction;     ///< such as `"imul r32"`

  double cycles_per_iteration() const { return static_cast<double>(links) * cycles_per_link; }
};

/// The start value of the chain, and the operand of each link.
inline constexpr std::uint32_t kChainStart = 1;
inline constexpr std::uint32_t kChainFactor = 0x9E3779B1;

/// The chain of this architecture; nothing where no instruction has the same latency on all its
/// processors. On x86-64 a 32-bit multiplication: 3 cycles on every Intel core since Nehalem and on
/// every AMD core since Zen (of 64 bits it is 4 on the first Zen). On aarch64 multiplications take
/// 2 to 4 cycles, so there it is an addition of two registers: 1 cycle on all.
HEADROOM_API std::optional<CycleChain> cycle_chain();

/// Why `cycle_chain` has nothing; empty if it has.
HEADROOM_API std::string why_no_clock();

}  // namespace headroom::processor
