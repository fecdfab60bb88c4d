#include "measure/control_meters.hpp"

namespace headroom::measure {

std::function<machine::Reading()> ControlMeters::reader(int threads) {
  if (kernel_ == nullptr) return {};
  std::unique_ptr<machine::FmaMeter>& meter = meters_[threads];
  if (!meter) meter = std::make_unique<machine::FmaMeter>(threads, kernel_);
  return [meter = meter.get()] {
    machine::Reading reading;
    reading.gflops = machine::best_of_bursts(*meter);
    reading.clock_ghz = meter->clock_ghz();
    return reading;
  };
}

}  // namespace headroom::measure
