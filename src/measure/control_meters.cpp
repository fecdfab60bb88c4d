#include "measure/control_meters.hpp"

namespace headroom::measure {

std::function<double()> ControlMeters::reader(int threads) {
  if (kernel_ == nullptr) return {};
  std::unique_ptr<machine::FmaMeter>& meter = meters_[threads];
  if (!meter) meter = std::make_unique<machine::FmaMeter>(threads, kernel_);
  return [meter = meter.get()] { return machine::best_of_bursts(*meter); };
}

}  // namespace headroom::measure
