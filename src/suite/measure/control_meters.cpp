#include "measure/control_meters.hpp"

#include <algorithm>

#include "plan/timing_plan.hpp"

namespace headroom::measure {

// The reading after a sample is also the one before the next, if that follows at once.
static constexpr std::chrono::milliseconds kAtOnce{1};

ControlMeters::Meters::Meters(int threads, const machine::LimitKernels& kernels)
    : fma(threads, kernels.fma, plan::kControlBurstSeconds) {
  if (kernels.tile != nullptr) tile.emplace(fma, kernels.tile, plan::kControlBurstSeconds);
}

// The kinds take turns, so that both have bursts early and late: threads of a runtime may still
// spin for a while after their last task, and what slows one kind should slow the other.
machine::Reading ControlMeters::Meters::read() {
  machine::Reading reading;
  for (int burst = 0; burst < plan::kControlBursts; ++burst) {
    reading.gflops = std::max(reading.gflops, fma.sample());
    if (tile) reading.tile_gflops = std::max(reading.tile_gflops.value_or(0), tile->sample());
  }
  reading.clock_ghz = fma.clock_ghz();
  return reading;
}

std::function<machine::Reading()> ControlMeters::reader(int threads) {
  if (kernels_.fma == nullptr) return {};
  std::unique_ptr<Meters>& meters = meters_[threads];
  if (!meters) meters = std::make_unique<Meters>(threads, kernels_);
  return [meters = meters.get(), last = last_] {
    if (last->meters == meters && Clock::now() - last->taken < kAtOnce) return last->reading;
    *last = {meters, {}, meters->read()};
    last->taken = Clock::now();
    return last->reading;
  };
}

}  // namespace headroom::measure
