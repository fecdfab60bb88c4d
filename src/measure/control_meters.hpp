// The control kernel that runs beside the samples.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "machine/meters/peak.hpp"
#include "machine/meters/timing.hpp"

namespace headroom::measure {

/// The control kernel on any number of threads, started when first asked for.
class ControlMeters {
 public:
  explicit ControlMeters(machine::FmaKernel kernel) : kernel_(kernel) {}
  /// @return what reads its rate just now and the clock of its threads right after that; nothing to
  /// call without a kernel.
  std::function<machine::Reading()> reader(int threads);

 private:
  machine::FmaKernel kernel_;
  std::map<int, std::unique_ptr<machine::FmaMeter>> meters_;
};

}  // namespace headroom::measure
