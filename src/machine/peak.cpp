#include "machine/peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>

#include "machine/timing.hpp"
#include "statistics/samples.hpp"

namespace headroom::machine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 3;
constexpr int kRepetitions = 5;
constexpr double kMinTime = 0.04;
constexpr std::int64_t kLine = 64;  // bytes

double seconds_of(const std::function<void()>& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds of one run in the best of the rounds.
double best_median_seconds(const char* name, const std::function<void()>& run) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    time_interleaved({{name, run, kRepetitions, kMinTime}},
                     [&](std::size_t, const TimedSamples& samples) {
                       const double seconds = statistics::median(samples.seconds);
                       if (best == 0 || seconds < best) best = seconds;
                     });
  }
  return best;
}

// Iterations that keep one thread busy for a burst.
std::int64_t iterations_of_burst(FmaKernel kernel) {
  float sink = 0;
  for (std::int64_t iterations = 1000;; iterations *= 2) {
    const double seconds = seconds_of([&] { kernel(iterations, &sink); });
    if (seconds < kBurstSeconds) continue;
    return static_cast<std::int64_t>(static_cast<double>(iterations) * kBurstSeconds / seconds);
  }
}

}  // namespace

FmaMeter::FmaMeter(int threads, FmaKernel kernel)
    : iterations_(iterations_of_burst(kernel)),
      slots_(static_cast<std::size_t>(threads)),
      team_(threads, [this, kernel](int index) {
        Slot& slot = slots_[static_cast<std::size_t>(index)];
        slot.flops = kernel(iterations_, &slot.sink);
      }) {}

double FmaMeter::flops() const {
  double flops = 0;
  for (const Slot& slot : slots_) flops += slot.flops;
  return flops;
}

double FmaMeter::sample() {
  const double seconds = seconds_of([this] { run(); });
  return flops() / seconds * 1e-9;
}

ReadMeter::ReadMeter(int threads, std::int64_t bytes, ReadKernel kernel)
    : share_(bytes / kLine / threads * (kLine / 4)),
      values_(share_ * threads),
      sums_(static_cast<std::size_t>(threads) * kLine / 4),
      team_(threads, [this, kernel](int index) {
        sums_[static_cast<std::size_t>(index) * kLine / 4] =
            kernel(values_.data() + index * share_, share_);
      }) {
  std::fill_n(values_.data(), values_.size(), 1.0F);
}

double ReadMeter::bytes() const { return static_cast<double>(values_.bytes()); }

double ReadMeter::sample() {
  return bytes() / seconds_of([this] { run(); }) * 1e-9;
}

std::int64_t uncached_bytes(std::int64_t last_level_bytes, std::int64_t max_bytes) {
  constexpr std::int64_t kSmallest = std::int64_t{256} << 20;
  return std::min(max_bytes, std::max(kSmallest, 4 * last_level_bytes));
}

double measure_fma_peak(int threads, FmaKernel kernel) {
  FmaMeter meter(threads, kernel);
  const double seconds = best_median_seconds("fma_peak", [&] { meter.run(); });
  return seconds > 0 ? meter.flops() / seconds * 1e-9 : 0;
}

double measure_read_bandwidth(int threads, std::int64_t last_level_bytes, std::int64_t max_bytes,
                              ReadKernel kernel) {
  ReadMeter meter(threads, uncached_bytes(last_level_bytes, max_bytes), kernel);
  const double seconds = best_median_seconds("read_bandwidth", [&] { meter.run(); });
  return seconds > 0 ? meter.bytes() / seconds * 1e-9 : 0;
}

}  // namespace headroom::machine
