// What the control reads beside a sample.
#include "measure/control_meters.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "machine/meters/clock.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure::control_meters_test {
namespace {

// Stands for multiply-adds: takes a microsecond and does a thousand operations an iteration.
double slow_fma(std::int64_t iterations, float* sink) {
  std::this_thread::sleep_for(std::chrono::microseconds(iterations));
  *sink = 0;
  return 1e3 * static_cast<double>(iterations);
}

std::atomic<int> calls{0};

double counted_fma(std::int64_t iterations, float* sink) {
  ++calls;
  return slow_fma(iterations, sink);
}

// Half as many operations in the time.
double slow_tile(std::int64_t iterations, float* sink) { return slow_fma(iterations, sink) / 2; }

machine::LimitKernels control_of(machine::FmaKernel fma, machine::FmaKernel tile = nullptr) {
  return {fma, nullptr, tile};
}

// Which kernel ran, and on which threads.
struct Calls {
  std::mutex lock;
  std::string order;
  std::set<std::thread::id> fma, tile;
} seen;

double seen_fma(std::int64_t iterations, float* sink) {
  {
    const std::lock_guard guard(seen.lock);
    seen.order += 'f';
    seen.fma.insert(std::this_thread::get_id());
  }
  return slow_fma(iterations, sink);
}

double seen_tile(std::int64_t iterations, float* sink) {
  {
    const std::lock_guard guard(seen.lock);
    seen.order += 't';
    seen.tile.insert(std::this_thread::get_id());
  }
  return slow_tile(iterations, sink);
}

TEST(ControlMeters, ReadBothRatesAndTheClock) {
  ControlMeters meters(control_of(slow_fma, slow_tile));
  for (const int threads : {1, 2}) {
    const machine::Reading reading = meters.reader(threads)();
    EXPECT_GT(reading.gflops, 0);
    // No thread can sleep for less than it was told: 1 GFLOP/s each.
    EXPECT_LE(reading.gflops, threads);
    ASSERT_TRUE(reading.tile_gflops.has_value());
    EXPECT_GT(*reading.tile_gflops, 0);
    EXPECT_LE(*reading.tile_gflops, 0.5 * threads);
    ASSERT_EQ(reading.clock_ghz.has_value(), processor::why_no_clock().empty());
    EXPECT_GT(reading.clock_ghz.value_or(1), 0);
  }
}

// As many bursts of each kind as the plan counts, in turns, on the same threads.
TEST(ControlMeters, TakeTurnsOnTheSameThreads) {
  ControlMeters meters(control_of(seen_fma, seen_tile));
  const auto one = meters.reader(1);
  seen.order.clear();
  one();
  std::string turns;
  for (int burst = 0; burst < plan::kControlBursts; ++burst) turns += "ft";
  EXPECT_EQ(seen.order, turns);
  const auto two = meters.reader(2);
  seen.fma.clear();
  seen.tile.clear();
  two();
  EXPECT_EQ(seen.fma.size(), 2u);
  EXPECT_EQ(seen.fma, seen.tile);
}

TEST(ControlMeters, WithoutTilesThereIsNoRateOfThem) {
  EXPECT_FALSE(ControlMeters(control_of(slow_fma)).reader(1)().tile_gflops.has_value());
}

// The reading after one sample is that before the next.
TEST(ControlMeters, ReadOnceWhatFollowsAtOnce) {
  calls = 0;
  ControlMeters meters(control_of(counted_fma));
  const auto one = meters.reader(1);
  one();
  const int once = calls;
  EXPECT_GT(once, 0);
  meters.reader(1)();
  EXPECT_EQ(calls, once);
  meters.reader(2)();
  EXPECT_GT(calls, once) << "another number of threads";
  const int both = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  meters.reader(2)();
  EXPECT_GT(calls, both) << "too long ago";
}

TEST(ControlMeters, WithoutAKernelThereIsNothingToRead) {
  EXPECT_FALSE(ControlMeters(control_of(nullptr, slow_tile)).reader(1));
}

TEST(ControlMeters, PlansCountBothOfTheirReadings) {
  constexpr double kRate = plan::kControlBursts * plan::kControlBurstSeconds;
  constexpr double kClock = machine::kClockBursts * machine::kClockBurstSeconds;
  EXPECT_DOUBLE_EQ(plan::kControlSeconds, 2 * (2 * kRate + kClock));
}

}  // namespace
}  // namespace headroom::measure::control_meters_test
