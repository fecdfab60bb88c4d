// The clock of the cores, measured, because a virtual machine does not report it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "machine/meters/team.hpp"
#include "processor/cycle_chain.hpp"

namespace headroom::machine {

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

  explicit ClockMeter(processor::CycleChain chain, Timer timer = steady_seconds);

  /// Best of `kClockBursts`. @return GHz, of the core that the calling thread ran on.
  double sample() const;
  /// The same on all threads of the team at once. @return their mean, in GHz.
  double sample(Team& team) const;

  /// Of the chain, per burst.
  std::int64_t iterations() const { return iterations_; }
  const processor::CycleChain& chain() const { return chain_; }

  static double steady_seconds();

 private:
  processor::CycleChain chain_;
  Timer timer_;
  std::int64_t iterations_;
};

/// The clock of the calling thread in GHz; nothing where it cannot be measured.
std::optional<double> measure_clock_ghz();

}  // namespace headroom::machine
