// The limits of the hardware as measured, not as promised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "headroom/isa.hpp"
#include "machine/meters/clock.hpp"
#include "machine/meters/team.hpp"

namespace headroom::machine {

/// Fused multiply-adds in registers alone; returns the floating-point operations done.
using FmaKernel = double (*)(std::int64_t iterations, float* sink);

/// The sum of an array, as fast as it can be read.
using ReadKernel = float (*)(const float* x, std::int64_t count);

/// What the limits are measured with on one instruction-set level.
struct LimitKernels {
  FmaKernel fma = nullptr;
  ReadKernel read = nullptr;
};
using LimitKernelsOf = LimitKernels (*)(Isa isa);

/// Seconds of one burst of multiply-adds: long beside the barrier of its threads, and short enough
/// to be taken right beside what it is compared with, as the clock of a shared machine drifts.
inline constexpr double kBurstSeconds = 0.005;

/// Bursts of multiply-adds on `threads` threads, of about `kBurstSeconds` each.
class FmaMeter {
 public:
  FmaMeter(int threads, FmaKernel kernel);

  /// One burst. @return GFLOP/s of all threads together.
  double sample();
  /// One burst, not timed.
  void run() { team_.run(); }
  /// Floating-point operations of the last burst.
  double flops() const;
  /// The clock of the same threads. Right after a burst it is the clock of the burst, because cores
  /// that slow down for wide instructions wait a while before they speed up again.
  /// @return GHz, the mean of the threads; nothing where `why_no_clock` says why.
  std::optional<double> clock_ghz();

 private:
  struct alignas(64) Slot {
    float sink = 0;
    double flops = 0;
  };

  std::int64_t iterations_;
  std::optional<ClockMeter> clock_;
  std::vector<Slot> slots_;
  Team team_;
};

/// Reading memory: every thread sums its share of a buffer, which it was also the first to write.
class ReadMeter {
 public:
  ReadMeter(int threads, std::int64_t bytes, ReadKernel kernel);

  /// One pass over the buffer. @return GB/s (1e9 bytes) of all threads together.
  double sample();
  /// One pass, not timed.
  void run() { team_.run(); }
  /// Bytes of one pass.
  double bytes() const;

 private:
  std::int64_t share_;  // floats of one thread
  AlignedBuffer values_;
  std::vector<float> sums_;  // a cache line a thread
  Team team_;
};

inline constexpr int kBursts = 4;

/// The best of `kBursts` of a meter: the first ones may share their cores with a runtime's threads
/// that still spin after their last task.
template <class Meter>
double best_of_bursts(Meter& meter) {
  double most = 0;
  for (int i = 0; i < kBursts; ++i) most = std::max(most, meter.sample());
  return most;
}

/// Asked now and then; once true, a measurement ends as soon as it can. May be empty.
using Stopped = std::function<bool()>;

/// The multiply-add rate of some threads together, and whether the machine holds it.
struct FmaPeak {
  double gflops = 0;                ///< the limit: the best that a few tenths of a second gave
  std::optional<double> clock_ghz;  ///< right after that; empty where `why_no_clock` says why
  double sustained_gflops = 0;      ///< mean of `kSustainedSeconds` without a pause
  std::optional<double> sustained_clock_ghz;  ///< right after that

  /// Whether the machine goes on at the rate of the limit. If not, the limit is one of bursts.
  bool held() const { return sustained_gflops >= kHeldShare * gflops; }

  /// Empty if it is held. Else whether the clock fell, or did not, so that something else must have
  /// taken the cores' time.
  std::string why_not_held() const;

  /// Less than this is missing to a limit that is held: what a quiet machine scatters by.
  static constexpr double kHeldShare = 0.95;
};

inline constexpr double kSustainedSeconds = 0.3;

/// The limit is the highest rate of several rounds of repetitions, each counted by its median: a
/// median, so that one lucky sample does not set the limit; the best of several rounds, so that a
/// disturbed one does not lower it below what a layer then reaches.
FmaPeak measure_fma_limits(int threads, FmaKernel kernel, const Stopped& stopped = {});

/// The limit alone. @return GFLOP/s of `threads` threads together.
double measure_fma_peak(int threads, FmaKernel kernel);

/// Bursts without a pause until the time is over. @return what they did per second.
/// @param burst does some work and returns how much
/// @param timer seconds since some moment
double sustained_rate(const std::function<double()>& burst, double seconds,
                      const std::function<double()>& timer);

/// How often to pass over a buffer: rounds of repetitions of iterations.
struct Passes {
  int rounds = 0;
  int repetitions = 0;
  std::int64_t iterations = 0;
};

/// As many passes as fit the time, and one at least.
Passes passes_within(double seconds, double pass_seconds);

/// What the passes over a buffer may take in all, unless one takes longer. Writing it and a first
/// pass come before.
inline constexpr double kReadSeconds = 0.5;

/// The limit of reading memory, found like that of multiply-adds.
/// @param bytes of the buffer, `uncached_buffer` tells how many
/// @return GB/s (1e9 bytes) of `threads` threads together; 0 if it was stopped.
double measure_read_bandwidth(int threads, std::int64_t bytes, ReadKernel kernel,
                              const Stopped& stopped = {});

}  // namespace headroom::machine
