// The kernel's counters of events in the processor (man 2 perf_event_open), behind an interface
// that tests can make up.
#pragma once

#include <cstdint>
#include <optional>

namespace headroom::machine {

enum class PerfEvent {
  instructions,
  cycles,
  cache_misses,  ///< what the kernel calls so: mostly of the last level
  task_clock,    ///< nanoseconds, counted by the kernel itself: a virtual machine has it too
};

/// A counter since it was opened, over all threads that it counts.
struct PerfReading {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;  ///< nanoseconds that the threads ran
  std::uint64_t running = 0;  ///< of these with a counter of the processor: less where they share
};

class PerfKernel {
 public:
  virtual ~PerfKernel() = default;

  /// Counts what the calling thread, and every thread that it starts from now on, does in user
  /// space.
  /// @param group of an open event with which it is to be scheduled; -1 for none
  /// @return a descriptor, or the negative error
  virtual int open(PerfEvent event, int group) = 0;
  /// Empty where it cannot be read.
  virtual std::optional<PerfReading> read(int event) = 0;
  virtual void close(int event) = 0;

 protected:
  PerfKernel() = default;
  PerfKernel(const PerfKernel&) = default;
  PerfKernel& operator=(const PerfKernel&) = default;
};

/// That of this system.
PerfKernel& system_perf();

}  // namespace headroom::machine
