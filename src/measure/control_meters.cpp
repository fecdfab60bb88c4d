#include "measure/control_meters.hpp"

namespace headroom::measure {

// The reading after a sample is also the one before the next, if that follows at once.
static constexpr std::chrono::milliseconds kAtOnce{1};

std::function<machine::Reading()> ControlMeters::reader(int threads) {
  if (kernel_ == nullptr) return {};
  std::unique_ptr<machine::FmaMeter>& meter = meters_[threads];
  if (!meter) meter = std::make_unique<machine::FmaMeter>(threads, kernel_);
  return [meter = meter.get(), last = last_] {
    if (last->meter == meter && Clock::now() - last->taken < kAtOnce) return last->reading;
    last->reading.gflops = machine::best_of_bursts(*meter);
    last->reading.clock_ghz = meter->clock_ghz();
    last->meter = meter;
    last->taken = Clock::now();
    return last->reading;
  };
}

}  // namespace headroom::measure
