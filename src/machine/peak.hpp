// The limits of the hardware as measured, not as promised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "headroom/isa.hpp"
#include "machine/team.hpp"

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

 private:
  struct alignas(64) Slot {
    float sink = 0;
    double flops = 0;
  };

  std::int64_t iterations_;
  std::vector<Slot> slots_;
  Team team_;
};

/// Reading memory: every thread sums its share of a buffer larger than the last-level cache.
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

/// Bytes of a buffer that no cache holds, but at most `max_bytes`.
std::int64_t uncached_bytes(std::int64_t last_level_bytes, std::int64_t max_bytes);

/// The highest rate that was sustained: of several rounds of repetitions the round with the best
/// median. A median, so that one lucky sample does not set the limit; the best of several rounds,
/// so that a disturbed one does not lower it below what a layer then reaches.
/// @return GFLOP/s of `threads` threads together.
double measure_fma_peak(int threads, FmaKernel kernel);

/// The same for reading memory.
/// @param max_bytes the buffer is not made larger than this.
/// @return GB/s (1e9 bytes) of `threads` threads together.
double measure_read_bandwidth(int threads, std::int64_t last_level_bytes, std::int64_t max_bytes,
                              ReadKernel kernel);

}  // namespace headroom::machine
