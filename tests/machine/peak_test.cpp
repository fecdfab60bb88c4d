// The measured limits: how they are put together from what meters and timers give.
#include "machine/meters/peak.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <string>
#include <thread>

#include "machine/meters/clock.hpp"

namespace headroom::machine::peak_test {
namespace {

std::int64_t count_of(const Passes& passes) {
  return std::int64_t{passes.rounds} * passes.repetitions * passes.iterations;
}

TEST(Passes, FitTheTimeUnlessOneIsLonger) {
  for (const double pass : {1e-6, 1e-3, 0.02, 0.034, 0.06, 0.11, 0.2, 0.49, 0.51, 7.0}) {
    const Passes passes = passes_within(0.5, pass);
    EXPECT_GE(count_of(passes), 1) << pass;
    EXPECT_TRUE(static_cast<double>(count_of(passes)) * pass <= 0.5 || count_of(passes) == 1)
        << pass;
  }
}

TEST(Passes, UseTheTime) {
  EXPECT_EQ(count_of(passes_within(0.5, 0.001)), 3 * 5 * 33);
  EXPECT_EQ(count_of(passes_within(0.5, 0.1)), 3);
  EXPECT_EQ(count_of(passes_within(0.5, 0.05)), 9);
  EXPECT_GE(count_of(passes_within(0.5, 0)), 1) << "a pass too short for the timer";
}

// A machine that does 1000 per second, and half of that once it is hot.
TEST(Sustained, IsWhatWasDoneOverTheTimeItTook) {
  double now = 7;
  int bursts = 0;
  const auto burst = [&] {
    now += bursts++ < 10 ? 0.01 : 0.02;
    return 10.0;
  };
  // 10 bursts of 10 ms and 10 of 20 ms.
  EXPECT_NEAR(sustained_rate(burst, 0.2999, [&] { return now; }), 200 / 0.3, 1e-6);
  EXPECT_EQ(bursts, 20);
}

TEST(Sustained, ALimitThatIsNotHeldIsOneOfBursts) {
  FmaPeak peak;
  peak.gflops = 100;
  peak.sustained_gflops = 96;
  EXPECT_TRUE(peak.held());
  peak.sustained_gflops = 94;
  EXPECT_FALSE(peak.held());
}

TEST(Sustained, TheClockTellsHeatFromCompany) {
  FmaPeak peak;
  peak.gflops = 100;
  peak.sustained_gflops = 96;
  EXPECT_EQ(peak.why_not_held(), "");
  peak.sustained_gflops = 80;
  EXPECT_EQ(peak.why_not_held(), "100.0 GFLOP/s in bursts and 80.0 over 0.3 s");
  peak.clock_ghz = 3;
  peak.sustained_clock_ghz = 2.4;
  EXPECT_NE(peak.why_not_held().find("the clock fell from 3.00 to 2.40 GHz"), std::string::npos)
      << peak.why_not_held();
  peak.sustained_clock_ghz = 2.95;
  EXPECT_NE(peak.why_not_held().find("stayed at 2.95 GHz, so something else"), std::string::npos)
      << peak.why_not_held();
}

// Stands for multiply-adds: takes a microsecond and does a thousand operations per iteration.
double slow_fma(std::int64_t iterations, float* sink) {
  std::this_thread::sleep_for(std::chrono::microseconds(iterations));
  *sink = 0;
  return 1e3 * static_cast<double>(iterations);
}

TEST(FmaLimits, CarryBothRatesAndTheirClocks) {
  const FmaPeak peak = measure_fma_limits(2, slow_fma);
  EXPECT_GT(peak.gflops, 0);
  EXPECT_GT(peak.sustained_gflops, 0);
  // No thread can sleep for less than it was told: 1 GFLOP/s each.
  EXPECT_LE(peak.gflops, 2);
  EXPECT_LE(peak.sustained_gflops, 2);
  EXPECT_EQ(peak.clock_ghz.has_value(), processor::why_no_clock().empty());
  EXPECT_EQ(peak.sustained_clock_ghz.has_value(), processor::why_no_clock().empty());
}

TEST(FmaLimits, EndWhenStopped) {
  const FmaPeak peak = measure_fma_limits(1, slow_fma, [] { return true; });
  EXPECT_EQ(peak.gflops, 0);
  EXPECT_EQ(peak.sustained_gflops, 0);
}

std::atomic<std::int64_t> passes_made;
std::atomic<double> sum_of_all;

float sum(const float* x, std::int64_t count) {
  const float all = std::accumulate(x, x + count, 0.0F);
  sum_of_all += all;
  return all;
}

TEST(ReadMeter, EveryThreadReadsItsOwnShareOfAWrittenBuffer) {
  constexpr std::int64_t kBytes = std::int64_t{3} << 20;
  sum_of_all = 0;
  ReadMeter meter(3, kBytes, sum);
  EXPECT_EQ(meter.bytes(), kBytes);
  meter.run();
  EXPECT_EQ(sum_of_all, static_cast<double>(kBytes) / 4);
  meter.set_passes(5);
  meter.run();
  EXPECT_EQ(meter.bytes(), 5 * kBytes);
  EXPECT_EQ(sum_of_all, 6 * static_cast<double>(kBytes) / 4);
}

float counted_read(const float*, std::int64_t) {
  ++passes_made;
  return 0;
}

TEST(ReadBandwidth, ThreadsThatAreSoonDoneReadManyTimesBeforeTheyMeet) {
  passes_made = 0;
  constexpr std::int64_t kBytes = 1 << 16;
  EXPECT_GT(measure_read_bandwidth(1, kBytes, counted_read), 0);
  // A kernel that takes no time: thousands of passes in each of at most some dozens of runs.
  EXPECT_GT(passes_made, 1000);
}

float slow_read(const float*, std::int64_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ++passes_made;
  return 0;
}

TEST(ReadBandwidth, LongPassesAreFew) {
  passes_made = 0;
  constexpr std::int64_t kBytes = 1 << 20;
  // Nothing sleeps for less than it was told.
  EXPECT_LE(measure_read_bandwidth(1, kBytes, slow_read), kBytes / 0.3 * 1e-9);
  EXPECT_EQ(passes_made, 2) << "one to learn how long it takes, one that counts";
}

TEST(ReadBandwidth, EndsWhenStopped) {
  EXPECT_EQ(measure_read_bandwidth(1, 1 << 20, sum, [] { return true; }), 0);
}

}  // namespace
}  // namespace headroom::machine::peak_test
