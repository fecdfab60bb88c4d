// The clock of the cores, measured, because a virtual machine does not report it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "machine/meters/team.hpp"

namespace headroom::machine {

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
std::optional<CycleChain> cycle_chain();

/// Why `cycle_chain` has nothing; empty if it has.
std::string why_no_clock();

/// Seconds of one burst of the chain at 3 GHz: long compared with a timer read, and short compared
/// with a time slice and with the time for which a core keeps the lower clock of wide
/// instructions.
inline constexpr double kClockBurstSeconds = 0.0002;

/// Bursts per sample, of which the fastest counts: an interrupted one is too slow, never too fast.
inline constexpr int kClockBursts = 3;

/// Measures the clock of the calling thread, or of a team's threads.
class ClockMeter {
 public:
  using Timer = std::function<double()>;  ///< seconds since some moment

  explicit ClockMeter(CycleChain chain, Timer timer = steady_seconds);

  /// Best of `kClockBursts`. @return GHz, of the core that the calling thread ran on.
  double sample() const;
  /// The same on all threads of the team at once. @return their mean, in GHz.
  double sample(Team& team) const;

  /// Of the chain, per burst.
  std::int64_t iterations() const { return iterations_; }
  const CycleChain& chain() const { return chain_; }

  static double steady_seconds();

 private:
  CycleChain chain_;
  Timer timer_;
  std::int64_t iterations_;
};

/// The clock of the calling thread in GHz; nothing where it cannot be measured.
std::optional<double> measure_clock_ghz();

}  // namespace headroom::machine
