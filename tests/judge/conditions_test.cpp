// What surrounds a measurement: caches, conditions, warnings, fingerprints.
#include "machine/conditions.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/text/fingerprint.hpp"
#include "judge/cautions.hpp"
#include "machine/meters/timing.hpp"
#include "program/program_fingerprint.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::conditions_test {
namespace {

using test::sample_result;
using test::with_time;

bool says(const std::vector<std::string>& cautions, const std::string& part) {
  for (const std::string& caution : cautions) {
    if (caution.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Cautions, AQuietMachineHasNone) {
  machine::Conditions quiet;
  EXPECT_TRUE(cautions_before(quiet, true).empty()) << "unreadable values must not cause warnings";
  quiet.load = 0.1;
  quiet.governor = "performance";
  EXPECT_TRUE(cautions_before(quiet, true).empty());
  EXPECT_TRUE(cautions_after({}, 0).empty());
}

TEST(Cautions, SayWhatSpoilsAndWhatToDo) {
  machine::Conditions busy;
  busy.load = 1.5;
  busy.governor = "powersave";
  const auto before = cautions_before(busy, false);
  EXPECT_EQ(before.size(), 3u);
  EXPECT_TRUE(says(before, "the load over the last minute is 1.5"));
  EXPECT_TRUE(says(before, "cpupower frequency-set"));
  EXPECT_TRUE(says(before, "cmake --preset release"));
  EXPECT_TRUE(says(cautions_after({}, 0.05), "5.0 %"));
}

TEST(Cautions, FollowTheControlAndTheSecondTiming) {
  record::CellResult slow = with_time(sample_result("tbb"), {1, 1, 1});
  slow.control = record::Control{"avx2", 1, {80, 80, 80}};
  record::CellResult fast = slow;
  fast.control->gflops = {100, 100, 100};
  record::CellResult other_threads = fast;
  other_threads.control->threads = 2;
  EXPECT_TRUE(cautions_after({slow, other_threads}, 0).empty());
  EXPECT_TRUE(says(cautions_after({slow, fast}, 0), "varied by 25 %"));
  slow.again = record::Again{1.3, {1}, {80}};
  EXPECT_TRUE(says(cautions_after({slow}, 0), "differed by up to 30 %"));
}

// Samples at these clocks, with a control on as many threads.
record::CellResult at_clock(const char* backend, int threads, const std::vector<double>& ghz) {
  record::CellResult result = with_time(sample_result(backend), std::vector<double>(ghz.size(), 1));
  result.control = record::Control{"avx2", threads, std::vector<double>(ghz.size(), 100), ghz};
  return result;
}

TEST(Cautions, TellOfCellsAtAnotherClockThanTheirRoof) {
  record::Peaks roofs;
  roofs.clock_ghz = {{1, 3.0}, {2, 2.5}};
  const auto near = at_clock("naive", 1, {2.95, 3.0, 2.0});
  const auto at_two = at_clock("tbb", 2, {2.5, 2.5, 2.5});
  EXPECT_TRUE(cautions_after({near, at_two}, 0, roofs).empty()) << "the median counts";
  const auto slow = at_clock("xsimd", 1, {2.8, 2.8, 2.8});
  const auto slower = at_clock("tbb", 1, {2.6, 2.6, 2.6});
  const auto fast = at_clock("onednn", 2, {2.6, 2.6, 2.6});
  const auto cautions = cautions_after({near, slow, slower, fast, at_two}, 0, roofs);
  ASSERT_EQ(cautions.size(), 1u);
  EXPECT_TRUE(says(cautions, "3 of 5 cells ran at another clock")) << cautions[0];
  EXPECT_TRUE(says(cautions, "split/tbb/f32/t1/B1_T4_D8_H2 at 2.60 GHz and its roof at 3.00"))
      << cautions[0];
}

TEST(Cautions, SayNothingOfAClockThatNobodyMeasured) {
  const auto slow = at_clock("tbb", 1, {2, 2, 2});
  EXPECT_TRUE(cautions_after({slow}, 0).empty());
  record::Peaks roofs;
  roofs.clock_ghz = {{2, 3.0}};
  EXPECT_TRUE(cautions_after({slow}, 0, roofs).empty()) << "no roof on as many threads";
  roofs.clock_ghz = {{1, 3.0}};
  EXPECT_FALSE(cautions_after({slow}, 0, roofs).empty());
  record::CellResult old = slow;
  old.control->clock_ghz.clear();
  EXPECT_TRUE(cautions_after({old}, 0, roofs).empty());
}

TEST(Cautions, TellOfThreadsThatHadFewerCores) {
  record::Peaks roofs;
  roofs.fma_gflops = {{1, 100}, {2, 195}};
  const auto at_rate = [](const char* backend, int threads, double gflops) {
    record::CellResult result = with_time(sample_result(backend), {1, 1, 1});
    result.threads = threads;
    result.control = record::Control{"avx2", threads, std::vector<double>(3, gflops)};
    return result;
  };
  const auto alone = at_rate("naive", 1, 100);
  const auto whole = at_rate("onednn", 2, 190);
  EXPECT_FALSE(says(cautions_after({alone, whole}, 0, roofs), "fewer cores"));
  const auto shared = at_rate("xsimd", 2, 130);
  const auto worst = at_rate("tbb", 2, 110);
  const auto cautions = cautions_after({alone, whole, shared, worst}, 0, roofs);
  EXPECT_TRUE(says(cautions,
                   "2 of 3 cells on several threads had fewer cores than threads, such as "
                   "split/tbb/f32/t1/B1_T4_D8_H2: 2 threads ran at the rate of 1.1 cores"));
  EXPECT_FALSE(says(cautions_after({alone, whole, shared, worst}, 0), "fewer cores"))
      << "without the rate of one thread nothing is known";
}

TEST(Conditions, SettingsOfTheRuntimesAreSeen) {
  setenv("OMP_TEST_ONLY", "a=b", 1);
  setenv("XOMP_TEST_ONLY", "no", 1);
  const auto variables = machine::runtime_variables();
  unsetenv("OMP_TEST_ONLY");
  unsetenv("XOMP_TEST_ONLY");
  ASSERT_TRUE(variables.contains("OMP_TEST_ONLY"));
  EXPECT_EQ(variables.at("OMP_TEST_ONLY"), "a=b");
  EXPECT_FALSE(variables.contains("XOMP_TEST_ONLY"));
}

TEST(Conditions, ProcessorTimeGoesOn) {
  const auto before = machine::processor_time();
  if (!before) GTEST_SKIP() << "this system does not report processor time";
  EXPECT_GE(before->stolen, 0);
  EXPECT_LE(before->stolen, before->all);
  EXPECT_GE(machine::processor_time()->all, before->all);
}

// Published values of the 64-bit hash: http://www.isthe.com/chongo/tech/comp/fnv
TEST(Fingerprint, IsFnv1a) {
  EXPECT_EQ(Fingerprint().text(), "cbf29ce484222325");
  Fingerprint hash;
  hash.add("foo");
  hash.add("bar");
  EXPECT_EQ(hash.text(), "85944171f73967e8");
  EXPECT_EQ(fingerprint_of_program().size(), 16u);
}

TEST(Timing, EachSampleIsPreparedAndHasTheIterationsAskedFor) {
  int prepared = 0;
  int run = 0;
  machine::TimedTask task{"task", [&] { ++run; }, 4};
  task.before = [&] { ++prepared; };
  task.iterations = 3;
  std::size_t samples = 0;
  machine::time_interleaved({task}, [&](std::size_t, const machine::TimedSamples& taken) {
    samples = taken.seconds.size();
  });
  EXPECT_EQ(samples, 4u);
  EXPECT_EQ(prepared, 4);
  EXPECT_EQ(run, 12);
}

// A control whose readings are told apart: 1, 2, 3, ..., tiles of half that and a clock of a tenth.
machine::TimedTask read_by(int& readings, bool all) {
  machine::TimedTask task{"task", [] {}, 3};
  task.iterations = 1;
  task.control = [&readings, all] {
    ++readings;
    machine::Reading reading{static_cast<double>(readings)};
    if (!all) return reading;
    reading.clock_ghz = 0.1 * readings;
    reading.tile_gflops = 0.5 * readings;
    return reading;
  };
  return task;
}

TEST(Timing, RatesAndClockAreTheMeansOfTheReadingsAroundEachSample) {
  int readings = 0;
  machine::TimedSamples samples;
  const auto keep = [&](std::size_t, const machine::TimedSamples& taken) { samples = taken; };
  machine::time_interleaved({read_by(readings, true)}, keep);
  EXPECT_EQ(readings, 6);
  EXPECT_EQ(samples.control, (std::vector<double>{1.5, 3.5, 5.5}));
  EXPECT_EQ(samples.tile, (std::vector<double>{0.75, 1.75, 2.75}));
  ASSERT_EQ(samples.clock_ghz.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(samples.clock_ghz[i], 0.1 * samples.control[i], 1e-12);
  }
  machine::time_interleaved({read_by(readings, false)}, keep);
  EXPECT_EQ(samples.control.size(), 3u);
  EXPECT_TRUE(samples.clock_ghz.empty()) << "no clock is none, not one of 0 GHz";
  EXPECT_TRUE(samples.tile.empty());
}

}  // namespace
}  // namespace headroom::judge::conditions_test
