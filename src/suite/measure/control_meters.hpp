// The control kernels that run beside the samples.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "machine/meters/peak.hpp"
#include "machine/meters/timing.hpp"

namespace headroom::measure {

/// The control kernels on any number of threads. Threads are started at the first request.
class ControlMeters {
 public:
  /// @param kernels `fma` is the control; `tile` may be null
  explicit ControlMeters(const machine::LimitKernels& kernels) : kernels_(kernels) {}
  /// @return a function that measures the current rates and, right after them, the clock of the
  ///         same threads, unless it did so less than a millisecond ago; empty if there is no
  ///         control.
  std::function<machine::Reading()> reader(int threads);

 private:
  using Clock = std::chrono::steady_clock;
  // On the same threads.
  struct Meters {
    Meters(int threads, const machine::LimitKernels& kernels);
    machine::Reading read();

    machine::FmaMeter fma;
    std::optional<machine::FmaMeter> tile;
  };
  struct Last {
    const Meters* meters = nullptr;
    Clock::time_point taken{};
    machine::Reading reading;
  };

  machine::LimitKernels kernels_;
  std::shared_ptr<Last> last_ = std::make_shared<Last>();
  std::map<int, std::unique_ptr<Meters>> meters_;
};

}  // namespace headroom::measure
