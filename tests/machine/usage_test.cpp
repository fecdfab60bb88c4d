// What a sample used on a made-up machine, from its files to the list of samples.
#include <gtest/gtest.h>

#include "machine/counters/usage_meter.hpp"
#include "machine/meters/timing.hpp"
#include "support/made_up_usage.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::machine::usage_test {
namespace {

using enum PerfEvent;
using test::MadeUpPerf;

class MadeUpUsage : public test::TemporaryFolder {
 protected:
  // Two cores of two hardware threads in one package.
  void throttle(const std::string& first, const std::string& second, const std::string& package) {
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
      const bool of_first = cpu % 2 == 0;
      write(folder + "thermal_throttle/core_throttle_count", (of_first ? first : second) + "\n");
      write(folder + "thermal_throttle/package_throttle_count", package + "\n");
      write(folder + "topology/thread_siblings_list", of_first ? "0,2\n" : "1,3\n");
      write(folder + "topology/physical_package_id", "0\n");
    }
    write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  }
  void package(const std::string& microjoules) {
    test::write_zone(path_, "intel-rapl:0", "package-0", microjoules);
  }
  UsageSources sources(double least_energy_seconds = 0) {
    return {path_, &perf_, least_energy_seconds};
  }

  MadeUpPerf perf_{{{instructions, 700}, {cycles, 350}, {cache_misses, 7}}};
};

TEST_F(MadeUpUsage, CountsThrottlingOfEachCoreAndPackageOnce) {
  throttle("10", "20", "5");
  const ThrottleCounts counts(path_);
  EXPECT_EQ(counts.why_not(), "");
  EXPECT_EQ(counts.words(), "events of 2 cores and 1 package");
  EXPECT_EQ(counts.read(), 35);
  throttle("11", "20", "7");
  EXPECT_EQ(counts.read(), 38);
  const std::string why = ThrottleCounts(path_ / "nowhere").why_not();
  EXPECT_NE(why.find("not available: "), std::string::npos) << why;
  EXPECT_NE(why.find("cpu0/thermal_throttle/core_throttle_count: No such file"), std::string::npos)
      << why;
}

TEST_F(MadeUpUsage, IsThatBetweenBeginAndEnd) {
  throttle("10", "20", "5");
  package("1000000");
  UsageMeter meter(sources());
  meter.begin();
  package("1250000");
  throttle("10", "21", "5");
  const Usage usage = meter.end();
  EXPECT_EQ(usage.joules, 0.25);
  EXPECT_EQ(usage.instructions, 700);
  EXPECT_EQ(usage.cycles, 350);
  EXPECT_EQ(usage.cache_misses, 7);
  EXPECT_EQ(usage.throttled, 1);
  meter.begin();
  EXPECT_EQ(meter.end().joules, 0) << "not since the first";
  EXPECT_EQ(meter.end().throttled, 0);
}

TEST_F(MadeUpUsage, OfAShortSampleHasNoEnergy) {
  package("1000000");
  UsageMeter meter(sources(100));
  meter.begin();
  package("1250000");
  const Usage usage = meter.end();
  EXPECT_FALSE(usage.joules);
  EXPECT_FALSE(usage.throttled) << "there are no such files";
  EXPECT_EQ(usage.instructions, 700);
}

TEST_F(MadeUpUsage, IsPerPassBesideEverySample) {
  throttle("10", "20", "5");
  package("1000000");
  UsageMeter meter(sources());
  TimedTask task;
  task.name = "usage";
  task.repetitions = 3;
  task.iterations = 7;
  task.usage = &meter;
  int passes = 0;
  task.run = [&] {
    if (++passes % task.iterations == 0) package(std::to_string(1000000 + 100000 * passes));
    if (passes == task.iterations) throttle("12", "20", "5");
  };
  TimedSamples samples;
  time_interleaved({task}, [&](std::size_t, const TimedSamples& taken) { samples = taken; });
  ASSERT_EQ(samples.seconds.size(), 3u);
  EXPECT_EQ(samples.usage.instructions, std::vector<double>(3, 100));
  EXPECT_EQ(samples.usage.cycles, std::vector<double>(3, 50));
  EXPECT_EQ(samples.usage.cache_misses, std::vector<double>(3, 1));
  ASSERT_EQ(samples.usage.joules.size(), 3u);
  for (const double joules : samples.usage.joules) EXPECT_NEAR(joules, 0.1, 1e-12);
  EXPECT_EQ(samples.usage.throttled, (std::vector<double>{2, 0, 0})) << "events are no average";
  task.usage = nullptr;
  time_interleaved({task}, [&](std::size_t, const TimedSamples& taken) { samples = taken; });
  EXPECT_TRUE(samples.usage.empty());
}

TEST_F(MadeUpUsage, IsOfferedOrMissingWithAReason) {
  UsageOffer offer = usage_offer(sources());
  EXPECT_EQ(offer.known.at("counters"), "instructions, cycles, cache misses");
  EXPECT_TRUE(offer.unavailable.contains("energy") && offer.unavailable.contains("throttling"));
  throttle("10", "20", "5");
  package("1000000");
  perf_.refuse = {{instructions, ENOENT}, {cycles, ENOENT}, {cache_misses, ENOENT}};
  offer = usage_offer(sources());
  EXPECT_EQ(offer.unavailable.at("energy"),
            "not available: powercap: package-0: the counts stand still");
  EXPECT_TRUE(offer.unavailable.contains("counters"));
  EXPECT_EQ(offer.known.at("throttling"), "events of 2 cores and 1 package");
  const test::Burning burning(path_, "intel-rapl:0", 100);
  EXPECT_EQ(usage_offer(sources()).known.at("energy"), "powercap: package-0");
}

// Whatever this machine has, nothing is silently missing.
TEST(Usage, IsThereOrHasAReason) {
  const UsageOffer offer = usage_offer();
  for (const char* name : {"energy", "counters", "throttling"}) {
    EXPECT_NE(offer.known.contains(name), offer.unavailable.contains(name)) << name;
  }
}

}  // namespace
}  // namespace headroom::machine::usage_test
