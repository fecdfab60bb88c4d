// The clock by a chain of instructions of known latency.
#include "machine/meters/clock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace headroom::machine::clock_test {
namespace {

// A processor of a known clock whose bursts are held up now and then.
struct FakeProcessor {
  double ghz;
  std::vector<double> delays;  // of one burst after the other, in seconds
  double now = 100;
  std::size_t burst = 0;
  std::int64_t iterations = 0;

  processor::CycleChain chain() {
    return {[this](std::int64_t count) {
              iterations += count;
              now += static_cast<double>(count) * 40 / (ghz * 1e9) + delays[burst++];
              return std::uint32_t{0};
            },
            10, 4, "fake"};
  }
  ClockMeter meter() {
    return ClockMeter(chain(), [this] { return now; });
  }
};

TEST(Clock, IsCyclesOverSecondsOfTheBestBurst) {
  FakeProcessor processor{2.5, {1e-3, 0, 1e-4}};
  const ClockMeter meter = processor.meter();
  EXPECT_NEAR(meter.sample(), 2.5, 1e-6);
  EXPECT_EQ(processor.burst, static_cast<std::size_t>(kClockBursts));
  EXPECT_EQ(processor.iterations, kClockBursts * meter.iterations());
}

TEST(Clock, ABurstHasAsManyIterationsAsItsTimeAndItsChainSay) {
  FakeProcessor processor{1, {0, 0, 0}};
  // 0.2 ms at 3 GHz are 600,000 cycles, at 10 links of 4 cycles.
  EXPECT_EQ(processor.meter().iterations(), 15000);
}

TEST(Clock, ATimerThatStandsStillGivesNoClock) {
  FakeProcessor processor{1, {0, 0, 0}};
  const ClockMeter meter(processor.chain(), [] { return 1.0; });
  EXPECT_EQ(meter.sample(), 0);
}

TEST(Clock, OfATeamIsTheMeanOfItsThreads) {
  thread_local double now = 0;
  thread_local double ghz = 0;
  Team team(2, [](int index) { ghz = index == 0 ? 2.0 : 4.0; });
  team.run();
  const processor::CycleChain chain{[](std::int64_t count) {
                                      now += static_cast<double>(count) / (ghz * 1e9);
                                      return std::uint32_t{0};
                                    },
                                    1, 1, "fake"};
  EXPECT_NEAR(ClockMeter(chain, [] { return now; }).sample(team), 3.0, 1e-6);
}

// What the chain computes, in plain arithmetic.
std::uint32_t last_link(const processor::CycleChain& chain, std::int64_t iterations) {
  std::uint32_t value = processor::kChainStart;
  for (std::int64_t i = 0; i < iterations * chain.links; ++i) {
    value = chain.instruction.starts_with("imul") ? value * processor::kChainFactor
                                                  : value + processor::kChainFactor;
  }
  return value;
}

TEST(Clock, TheChainRunsAllItsLinks) {
  const auto chain = processor::cycle_chain();
  if (!chain) GTEST_SKIP() << processor::why_no_clock();
  for (const std::int64_t iterations : {0, 1, 2, 7, 1000}) {
    EXPECT_EQ(chain->run(iterations), last_link(*chain, iterations)) << iterations;
  }
}

TEST(Clock, IsMeasuredOrSaysWhyNot) {
  EXPECT_EQ(processor::cycle_chain().has_value(), processor::why_no_clock().empty());
  const auto ghz = measure_clock_ghz();
  EXPECT_EQ(ghz.has_value(), processor::cycle_chain().has_value());
  if (!ghz) return;
  EXPECT_GT(*ghz, 0);
  RecordProperty("ghz", std::to_string(*ghz));
}

}  // namespace
}  // namespace headroom::machine::clock_test
