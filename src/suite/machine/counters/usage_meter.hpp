// What the passes of a sample used: energy, instructions, cycles, cache misses; and whether the
// processor was throttled meanwhile. Wherever the machine tells it.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/counters/energy_meter.hpp"
#include "machine/counters/perf_counters.hpp"
#include "machine/counters/throttle_counts.hpp"

namespace headroom::machine {

/// What one sample used. Empty where the machine does not tell it.
struct Usage {
  std::optional<double> joules, instructions, cycles, cache_misses;
  std::optional<double> throttled;  ///< events
};

/// One per sample each, or empty. All are per pass, but for the events, which are per sample.
struct UsageSamples {
  std::vector<double> joules, instructions, cycles, cache_misses, throttled;

  bool empty() const;
};

/// A kind of usage: its name, and where it is.
struct UsageKind {
  const char* name;
  std::optional<double> Usage::*of_sample;
  std::vector<double> UsageSamples::*samples;
  bool per_pass;
};

inline constexpr UsageKind kUsageKinds[] = {
    {"joules", &Usage::joules, &UsageSamples::joules, true},
    {"instructions", &Usage::instructions, &UsageSamples::instructions, true},
    {"cycles", &Usage::cycles, &UsageSamples::cycles, true},
    {"cache_misses", &Usage::cache_misses, &UsageSamples::cache_misses, true},
    {"throttled", &Usage::throttled, &UsageSamples::throttled, false}};

/// Where usage is read.
struct UsageSources {
  std::filesystem::path root = "/";  ///< stands for `/`
  PerfKernel* perf = nullptr;        ///< null: the system's
  /// RAPL counts about once in a millisecond, so the energy of a shorter sample says nothing.
  double least_energy_seconds = 0.01;
};

/// Reads all of them right before and right after a sample. It must be made before the threads that
/// it is to count, see `PerfCounters`.
class UsageMeter {
 public:
  explicit UsageMeter(const UsageSources& sources = {});

  void begin();
  /// Since `begin`.
  Usage end() const;

 private:
  using Clock = std::chrono::steady_clock;

  double least_energy_seconds_;
  EnergyMeter energy_;
  ThrottleCounts throttling_;
  PerfCounters perf_;

  Clock::time_point start_{};
  std::optional<EnergyReading> energy_before_;
  std::optional<std::int64_t> throttled_before_;
  PerfReadings perf_before_;
};

/// Null without sources.
std::unique_ptr<UsageMeter> make_usage_meter(const std::optional<UsageSources>& sources);

/// What can be told, and why the rest cannot: `energy`, `counters` and `throttling` are in exactly
/// one of them each.
struct UsageOffer {
  std::map<std::string, std::string> known;        ///< such as `"powercap: package-0"`
  std::map<std::string, std::string> unavailable;  ///< "not available: " and the reason
};

/// Takes some milliseconds if there is an energy meter, to see whether its counts move at all.
UsageOffer usage_offer(const UsageSources& sources = {});

}  // namespace headroom::machine
