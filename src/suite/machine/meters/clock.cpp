#include "machine/meters/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace headroom::machine {
namespace {

constexpr double kUsualGhz = 3;

}  // namespace

ClockMeter::ClockMeter(processor::CycleChain chain, Timer timer)
    : chain_(std::move(chain)),
      timer_(std::move(timer)),
      iterations_(
          std::llround(kClockBurstSeconds * kUsualGhz * 1e9 / chain_.cycles_per_iteration())) {}

double ClockMeter::sample() const {
  double best = 0;
  for (int i = 0; i < kClockBursts; ++i) {
    const double start = timer_();
    chain_.run(iterations_);
    const double seconds = timer_() - start;
    const double cycles = static_cast<double>(iterations_) * chain_.cycles_per_iteration();
    if (seconds > 0) best = std::max(best, cycles / seconds * 1e-9);
  }
  return best;
}

double ClockMeter::sample(Team& team) const {
  std::vector<double> ghz(static_cast<std::size_t>(team.size()));
  team.run([&](int index) { ghz[static_cast<std::size_t>(index)] = sample(); });
  return std::accumulate(ghz.begin(), ghz.end(), 0.0) / static_cast<double>(ghz.size());
}

double ClockMeter::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::optional<double> measure_clock_ghz() {
  const std::optional<processor::CycleChain> chain = processor::cycle_chain();
  if (!chain) return std::nullopt;
  return ClockMeter(*chain).sample();
}

}  // namespace headroom::machine
