// The limits of the hardware, as measured rather than as specified.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/unit.hpp"
#include "machine/meters/clock.hpp"
#include "machine/meters/team.hpp"

namespace headroom::machine {

/// Fused multiply-adds in registers alone; returns the floating-point operations done.
using FmaKernel = double (*)(std::int64_t iterations, float* sink);

/// Sums an array as fast as it can be read.
using ReadKernel = float (*)(const float* x, std::int64_t count);

/// The kernels that measure the limits of one level, and of the unit beside it.
struct LimitKernels {
  FmaKernel fma = nullptr;
  ReadKernel read = nullptr;
  FmaKernel tile = nullptr;  ///< multiply-adds of a register tile with its operands in the L1
  /// Products of bfloat16 parts with random operands in the L1, where the unit has them. A product
  /// counts once, however many products of parts it takes; it takes fewer where weights are stored
  /// as bfloat16.
  std::vector<std::pair<Numbers, FmaKernel>> products = {};
};
using LimitKernelsOf = LimitKernels (*)(const Target& target);

/// Seconds of one burst of multiply-adds: long compared with the barrier of its threads, and short
/// enough to run right beside what it is compared with, because the clock of a shared machine
/// drifts.
inline constexpr double kBurstSeconds = 0.005;

/// Bursts of multiply-adds on `threads` threads.
class FmaMeter {
 public:
  /// @param burst_seconds about how long each takes
  FmaMeter(int threads, FmaKernel kernel, double burst_seconds = kBurstSeconds);
  /// Another kernel on the threads of `other`, so that both rates are those of the same cores.
  FmaMeter(const FmaMeter& other, FmaKernel kernel, double burst_seconds = kBurstSeconds);
  FmaMeter(const FmaMeter&) = delete;
  FmaMeter& operator=(const FmaMeter&) = delete;

  /// One burst. @return GFLOP/s of all threads together.
  double sample();
  /// One burst, not timed.
  void run() { team_->run(share_); }
  /// Floating-point operations of the last burst.
  double flops() const;
  /// The clock of the same threads. Right after a burst it is the burst's clock, because cores that
  /// slow down for wide instructions wait a while before they speed up again.
  /// @return GHz, the mean of the threads; nothing where `why_no_clock` says why.
  std::optional<double> clock_ghz();

 private:
  struct alignas(64) Slot {
    float sink = 0;
    double flops = 0;
  };

  FmaMeter(std::shared_ptr<Team> team, FmaKernel kernel, double burst_seconds);

  std::int64_t iterations_;
  std::optional<ClockMeter> clock_;
  std::vector<Slot> slots_;
  Team::Share share_;
  std::shared_ptr<Team> team_;
};

/// Read bandwidth: every thread sums its share of a buffer, which it also wrote first.
class ReadMeter {
 public:
  ReadMeter(int threads, std::int64_t bytes, ReadKernel kernel);

  /// How often each thread reads its share before it waits for the others; at first once.
  void set_passes(std::int64_t passes) { passes_ = passes; }
  /// One run over the buffer. @return GB/s (1e9 bytes) of all threads together.
  double sample();
  /// One run, not timed.
  void run() { team_.run(); }
  /// Bytes of one run.
  double bytes() const;

 private:
  std::int64_t share_;  // floats of one thread
  std::int64_t passes_ = 1;
  AlignedBuffer values_;
  std::vector<float> sums_;  // one cache line per thread
  Team team_;
};

inline constexpr int kBursts = 4;

/// The best of `kBursts` of a meter: the first ones may share their cores with threads of a runtime
/// that still spin after their last task.
template <class Meter>
double best_of_bursts(Meter& meter) {
  double most = 0;
  for (int i = 0; i < kBursts; ++i) most = std::max(most, meter.sample());
  return most;
}

/// Polled during a measurement; once true, it ends as soon as it can. May be empty.
using Stopped = std::function<bool()>;

/// The multiply-add rate of several threads together, and whether the machine sustains it.
struct FmaPeak {
  double gflops = 0;                ///< the limit: the best within a few tenths of a second
  std::optional<double> clock_ghz;  ///< right after that; empty where `why_no_clock` says why
  double sustained_gflops = 0;      ///< mean of `kSustainedSeconds` without a pause
  std::optional<double> sustained_clock_ghz;  ///< right after that

  /// Whether the machine sustains the limit. If not, the limit holds for bursts only.
  bool held() const { return sustained_gflops >= kHeldShare * gflops; }

  /// Empty if it is sustained. Otherwise says whether the clock fell; if it did not, something else
  /// must have used the cores.
  std::string why_not_held() const;

  /// A sustained rate is below the limit by less than this, the scatter of a quiet machine.
  static constexpr double kHeldShare = 0.95;
};

inline constexpr double kSustainedSeconds = 0.3;

/// The limit is the highest rate of several rounds of repetitions, each counted by its median: a
/// median, so that one lucky sample does not set the limit; the best of several rounds, so that a
/// disturbed one does not lower it below what a layer then reaches.
FmaPeak measure_fma_limits(int threads, FmaKernel kernel, const Stopped& stopped = {});

/// About what `measure_fma_peak` takes: three rounds of five repetitions of about 50 ms each.
inline constexpr double kPeakSeconds = 0.85;

/// The limit alone. @return GFLOP/s of `threads` threads together; 0 if it was stopped.
double measure_fma_peak(int threads, FmaKernel kernel, const Stopped& stopped = {});

/// Runs bursts without a pause until the time is over. @return their work per second.
/// @param burst does some work and returns the amount
/// @param timer seconds since some moment
double sustained_rate(const std::function<double()>& burst, double seconds,
                      const std::function<double()>& timer);

/// How often to pass over a buffer: rounds of repetitions of iterations.
struct Passes {
  int rounds = 0;
  int repetitions = 0;
  std::int64_t iterations = 0;
};

/// As many passes as fit the time, at least one.
Passes passes_within(double seconds, double pass_seconds);

/// Total seconds for the passes over a buffer, unless one takes longer. Writing it and a first pass
/// are extra.
inline constexpr double kReadSeconds = 0.5;

/// The read-bandwidth limit, measured like that of multiply-adds.
/// @param bytes of the buffer, from `uncached_buffer`
/// @return GB/s (1e9 bytes) of `threads` threads together; 0 if it was stopped.
double measure_read_bandwidth(int threads, std::int64_t bytes, ReadKernel kernel,
                              const Stopped& stopped = {});

}  // namespace headroom::machine
