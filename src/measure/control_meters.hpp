// The control kernel that runs beside the samples.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "machine/meters/peak.hpp"
#include "machine/meters/timing.hpp"

namespace headroom::measure {

/// The control kernel on any number of threads. Threads are started at the first request.
class ControlMeters {
 public:
  explicit ControlMeters(machine::FmaKernel kernel) : kernel_(kernel) {}
  /// @return a function that measures the current GFLOP/s and, right after it, the clock of the
  ///         same threads, unless it did so less than a millisecond ago; empty if there is no
  ///         kernel.
  std::function<machine::Reading()> reader(int threads);

 private:
  using Clock = std::chrono::steady_clock;
  struct Last {
    const machine::FmaMeter* meter = nullptr;
    Clock::time_point taken{};
    machine::Reading reading;
  };

  machine::FmaKernel kernel_;
  std::shared_ptr<Last> last_ = std::make_shared<Last>();
  std::map<int, std::unique_ptr<machine::FmaMeter>> meters_;
};

}  // namespace headroom::measure
