// What the control reads beside a sample.
#include "measure/control_meters.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "machine/meters/clock.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure {
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

TEST(ControlMeters, ReadTheRateAndTheClock) {
  ControlMeters meters(slow_fma);
  for (const int threads : {1, 2}) {
    const machine::Reading reading = meters.reader(threads)();
    EXPECT_GT(reading.gflops, 0);
    // No thread can sleep for less than it was told: 1 GFLOP/s each.
    EXPECT_LE(reading.gflops, threads);
    ASSERT_EQ(reading.clock_ghz.has_value(), machine::why_no_clock().empty());
    EXPECT_GT(reading.clock_ghz.value_or(1), 0);
  }
}

// The reading after one sample is that before the next.
TEST(ControlMeters, ReadOnceWhatFollowsAtOnce) {
  calls = 0;
  ControlMeters meters(counted_fma);
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
  EXPECT_FALSE(ControlMeters(nullptr).reader(1));
}

TEST(ControlMeters, PlansCountBothOfTheirReadings) {
  constexpr double kRate = machine::kBursts * machine::kBurstSeconds;
  constexpr double kClock = machine::kClockBursts * machine::kClockBurstSeconds;
  EXPECT_DOUBLE_EQ(plan::kControlSeconds, 2 * kRate + 2 * kClock);
}

}  // namespace
}  // namespace headroom::measure
