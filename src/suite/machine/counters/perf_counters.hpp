// Instructions, cycles and cache misses of this process.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine/counters/perf_kernel.hpp"

namespace headroom::machine {

/// What is counted, in this order.
inline constexpr std::array<PerfEvent, 3> kPerfEvents{PerfEvent::instructions, PerfEvent::cycles,
                                                      PerfEvent::cache_misses};

/// One for each of `kPerfEvents`; empty for an event that is not counted.
using PerfReadings = std::array<std::optional<PerfReading>, kPerfEvents.size()>;
using PerfCounts = std::array<std::optional<double>, kPerfEvents.size()>;

/// Counts from its construction on what the calling thread does and all threads that it starts
/// later, until it is destroyed. So it is made at the beginning of a process: threads of a runtime
/// that existed before would be missing.
class PerfCounters {
 public:
  /// @param kernel must outlive this object
  /// @param root stands for `/`
  explicit PerfCounters(PerfKernel& kernel, const std::filesystem::path& root = "/");
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  /// "not available: " and the reason; empty if at least one event is counted.
  const std::string& why_not() const { return why_not_; }
  /// Such as `"instructions, cycles; no cache misses: No such file or directory"`.
  std::string words() const;

  PerfReadings read() const;

 private:
  PerfKernel& kernel_;
  std::array<int, kPerfEvents.size()> files_{};  // descriptors, or negative errors
  std::string why_not_;
};

/// What happened between two readings. Where events shared the processor's counters, this is what
/// they would have counted alone; empty where one had no counter in that time.
PerfCounts counts_between(const PerfReadings& before, const PerfReadings& after);

/// Why an event could not be opened, and what to do about it.
/// @param error as `PerfKernel::open` returned it, but positive
/// @param root stands for `/`
std::string why_no_perf(int error, const std::filesystem::path& root);

}  // namespace headroom::machine
