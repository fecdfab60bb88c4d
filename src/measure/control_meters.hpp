// The control kernel that runs beside the samples.
#pragma once

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
  ///         same threads; empty if there is no kernel.
  std::function<machine::Reading()> reader(int threads);

 private:
  machine::FmaKernel kernel_;
  std::map<int, std::unique_ptr<machine::FmaMeter>> meters_;
};

}  // namespace headroom::measure
