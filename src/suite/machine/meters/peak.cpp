#include "machine/meters/peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "machine/meters/timing.hpp"
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

// Seconds of one run in the best of the rounds; 0 if it was stopped before one was done.
// @param after called after each round with whether it is the best so far
double best_median_seconds(const TimedTask& task, int rounds, const Stopped& stopped,
                           const std::function<void(bool)>& after = {}) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    bool better = false;
    time_interleaved(
        {task},
        [&](std::size_t, const TimedSamples& samples) {
          const double seconds = statistics::median(samples.seconds);
          better = best == 0 || seconds < best;
          if (better) best = seconds;
        },
        stopped);
    if (after) after(better);
  }
  return best;
}

// Iterations that keep one thread busy for one burst.
std::int64_t iterations_of_burst(FmaKernel kernel, double burst_seconds) {
  float sink = 0;
  for (std::int64_t iterations = 1000;; iterations *= 2) {
    const double seconds = seconds_of([&] { kernel(iterations, &sink); });
    if (seconds < burst_seconds) continue;
    return static_cast<std::int64_t>(static_cast<double>(iterations) * burst_seconds / seconds);
  }
}

std::optional<ClockMeter> clock_meter() {
  std::optional<processor::CycleChain> chain = processor::cycle_chain();
  if (!chain) return std::nullopt;
  return ClockMeter(std::move(*chain));
}

}  // namespace

FmaMeter::FmaMeter(std::shared_ptr<Team> team, FmaKernel kernel, double burst_seconds)
    : iterations_(iterations_of_burst(kernel, burst_seconds)),
      clock_(clock_meter()),
      slots_(static_cast<std::size_t>(team->size())),
      share_([this, kernel](int index) {
        Slot& slot = slots_[static_cast<std::size_t>(index)];
        slot.flops = kernel(iterations_, &slot.sink);
      }),
      team_(std::move(team)) {}

FmaMeter::FmaMeter(int threads, FmaKernel kernel, double burst_seconds)
    : FmaMeter(std::make_shared<Team>(threads, Team::Share()), kernel, burst_seconds) {}

FmaMeter::FmaMeter(const FmaMeter& other, FmaKernel kernel, double burst_seconds)
    : FmaMeter(other.team_, kernel, burst_seconds) {}

double FmaMeter::flops() const {
  double flops = 0;
  for (const Slot& slot : slots_) flops += slot.flops;
  return flops;
}

double FmaMeter::sample() {
  const double seconds = seconds_of([this] { run(); });
  return flops() / seconds * 1e-9;
}

std::optional<double> FmaMeter::clock_ghz() {
  if (!clock_) return std::nullopt;
  return clock_->sample(*team_);
}

ReadMeter::ReadMeter(int threads, std::int64_t bytes, ReadKernel kernel)
    : share_(bytes / kLine / threads * (kLine / 4)),
      values_(share_ * threads),
      sums_(static_cast<std::size_t>(threads) * kLine / 4),
      team_(threads, [this, kernel](int index) {
        float sum = 0;
        for (std::int64_t pass = 0; pass < passes_; ++pass) {
          sum += kernel(values_.data() + index * share_, share_);
        }
        sums_[static_cast<std::size_t>(index) * kLine / 4] = sum;
      }) {
  // Memory is placed near the core that writes it first.
  team_.run([this](int index) { std::fill_n(values_.data() + index * share_, share_, 1.0F); });
}

double ReadMeter::bytes() const {
  return static_cast<double>(values_.bytes()) * static_cast<double>(passes_);
}

double ReadMeter::sample() {
  return bytes() / seconds_of([this] { run(); }) * 1e-9;
}

std::string FmaPeak::why_not_held() const {
  if (held()) return "";
  std::string rates = fmt::format("{:.1f} GFLOP/s in bursts and {:.1f} over {} s", gflops,
                                  sustained_gflops, kSustainedSeconds);
  if (!clock_ghz || !sustained_clock_ghz) return rates;
  if (*sustained_clock_ghz < kHeldShare * *clock_ghz) {
    return fmt::format("{}: the clock fell from {:.2f} to {:.2f} GHz", rates, *clock_ghz,
                       *sustained_clock_ghz);
  }
  return fmt::format("{}: the clock stayed at {:.2f} GHz, so something else used the cores", rates,
                     *sustained_clock_ghz);
}

double sustained_rate(const std::function<double()>& burst, double seconds,
                      const std::function<double()>& timer) {
  const double start = timer();
  double done = 0;
  double taken = 0;
  do {
    done += burst();
    taken = timer() - start;
  } while (taken < seconds);
  return done / taken;
}

namespace {

// @param after called after each round with whether it is the best so far
double best_gflops(FmaMeter& meter, const Stopped& stopped,
                   const std::function<void(bool)>& after = {}) {
  TimedTask task{"fma_peak", [&] { meter.run(); }, kRepetitions, kMinTime};
  const double seconds = best_median_seconds(task, kRounds, stopped, after);
  return seconds > 0 ? meter.flops() / seconds * 1e-9 : 0;
}

}  // namespace

FmaPeak measure_fma_limits(int threads, FmaKernel kernel, const Stopped& stopped) {
  FmaMeter meter(threads, kernel);
  FmaPeak peak;
  peak.gflops = best_gflops(meter, stopped, [&](bool best) {
    if (best) peak.clock_ghz = meter.clock_ghz();
  });
  if (stopped && stopped()) return peak;
  const auto burst = [&] {
    meter.run();
    return meter.flops();
  };
  peak.sustained_gflops =
      sustained_rate(burst, kSustainedSeconds, ClockMeter::steady_seconds) * 1e-9;
  peak.sustained_clock_ghz = meter.clock_ghz();
  return peak;
}

double measure_fma_peak(int threads, FmaKernel kernel, const Stopped& stopped) {
  FmaMeter meter(threads, kernel);
  return best_gflops(meter, stopped);
}

Passes passes_within(double seconds, double pass_seconds) {
  constexpr double kMost = 1e9;
  constexpr std::int64_t kSamples = std::int64_t{kRounds} * kRepetitions;
  const double fitting = pass_seconds > 0 ? seconds / pass_seconds : kMost;
  const auto all = static_cast<std::int64_t>(std::clamp(fitting, 1.0, kMost));
  if (all >= kSamples) return {kRounds, kRepetitions, all / kSamples};
  const int few = static_cast<int>(all);
  const int rounds = std::min(kRounds, few);
  return {rounds, few / rounds, 1};
}

double measure_read_bandwidth(int threads, std::int64_t bytes, ReadKernel kernel,
                              const Stopped& stopped) {
  ReadMeter meter(threads, bytes, kernel);
  double run_seconds = seconds_of([&] { meter.run(); });
  // A small buffer is read in the time that threads take to meet.
  constexpr double kLeastRunSeconds = 0.002;
  const double in_one_run = std::clamp(kLeastRunSeconds / std::max(run_seconds, 1e-9), 1.0, 1e6);
  meter.set_passes(static_cast<std::int64_t>(std::ceil(in_one_run)));
  run_seconds *= std::ceil(in_one_run);
  const Passes passes = passes_within(kReadSeconds, run_seconds);
  TimedTask task{"read_bandwidth", [&] { meter.run(); }, passes.repetitions};
  task.iterations = passes.iterations;
  const double seconds = best_median_seconds(task, passes.rounds, stopped);
  return seconds > 0 ? meter.bytes() / seconds * 1e-9 : 0;
}

}  // namespace headroom::machine
