#include "machine/counters/usage_meter.hpp"

#include <algorithm>
#include <iterator>

namespace headroom::machine {
namespace {

// Many times the millisecond in which RAPL counts.
constexpr double kTrialSeconds = 0.02;

PerfKernel& kernel_of(const UsageSources& sources) {
  return sources.perf != nullptr ? *sources.perf : system_perf();
}

}  // namespace

bool UsageSamples::empty() const {
  return std::all_of(std::begin(kUsageKinds), std::end(kUsageKinds),
                     [this](const UsageKind& kind) { return (this->*kind.samples).empty(); });
}

UsageMeter::UsageMeter(const UsageSources& sources)
    : least_energy_seconds_(sources.least_energy_seconds),
      energy_(sources.root),
      throttling_(sources.root),
      perf_(kernel_of(sources), sources.root) {}

// What takes longest to read is read farthest from the sample.
void UsageMeter::begin() {
  throttled_before_ = throttling_.read();
  energy_before_ = energy_.read();
  start_ = Clock::now();
  perf_before_ = perf_.read();
}

Usage UsageMeter::end() const {
  Usage usage;
  const PerfCounts counts = counts_between(perf_before_, perf_.read());
  const std::chrono::duration<double> seconds = Clock::now() - start_;
  usage.instructions = counts[0];
  usage.cycles = counts[1];
  usage.cache_misses = counts[2];
  if (energy_before_ && seconds.count() >= least_energy_seconds_) {
    const std::optional<EnergyReading> now = energy_.read();
    if (now) usage.joules = energy_.joules(*energy_before_, *now);
  }
  const std::optional<std::int64_t> throttled = throttling_.read();
  if (throttled_before_ && throttled && *throttled >= *throttled_before_) {
    usage.throttled = static_cast<double>(*throttled - *throttled_before_);
  }
  return usage;
}

std::unique_ptr<UsageMeter> make_usage_meter(const std::optional<UsageSources>& sources) {
  return sources ? std::make_unique<UsageMeter>(*sources) : nullptr;
}

UsageOffer usage_offer(const UsageSources& sources) {
  UsageOffer offer;
  const auto add = [&](const char* name, const std::string& why_not, const auto& words) {
    if (why_not.empty()) {
      offer.known[name] = words();
    } else {
      offer.unavailable[name] = why_not;
    }
  };
  const EnergyMeter energy(sources.root);
  std::string why_not = energy.why_not();
  // Some hypervisors show the files and count nothing.
  if (why_not.empty() && !idle_watts(energy, kTrialSeconds)) {
    why_not = "not available: " + energy.words() + ": the counts stand still";
  }
  add("energy", why_not, [&] { return energy.words(); });
  const PerfCounters perf(kernel_of(sources), sources.root);
  add("counters", perf.why_not(), [&] { return perf.words(); });
  const ThrottleCounts throttling(sources.root);
  add("throttling", throttling.why_not(), [&] { return throttling.words(); });
  return offer;
}

}  // namespace headroom::machine
