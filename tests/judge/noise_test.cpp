#include "judge/noise.hpp"

#include <gtest/gtest.h>

#include "judge/compare.hpp"
#include "machine/meters/timing.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::noise_test {
namespace {

using test::sample_result;
using test::with_time;

// Nine samples on a machine that runs at `speed`, doing `work` times the work.
record::CellResult at_speed(double speed, double work, bool control = true) {
  std::vector<double> samples, readings;
  for (const double wobble : {1.000, 1.004, 0.997, 1.002, 0.999, 1.006, 1.001, 0.998, 1.003}) {
    const double now = speed * wobble;
    samples.push_back(work * 1e-3 / now);
    readings.push_back(100 * now * (1 + 0.01 * (wobble - 1)));
  }
  record::CellResult result = with_time(sample_result("tbb"), samples);
  if (control) result.control = record::Control{"avx2", 1, readings};
  return result;
}

record::ResultsFolder folder_of(record::CellResult result) {
  record::ResultsFolder folder;
  folder.path = "folder";
  folder.environment = test::sample_environment();
  folder.results = {std::move(result)};
  return folder;
}

ComparedCell compared(const record::CellResult& base, const record::CellResult& next) {
  const record::ResultsFolder a = folder_of(base);
  const record::ResultsFolder b = folder_of(next);
  ComparedCell cell = compare_folders(a, b, {}).cells.front();
  cell.base = cell.next = nullptr;  // the folders end here
  return cell;
}

TEST(Noise, AMachineThatSlowedDownIsNoSlowerProgram) {
  const ComparedCell cell = compared(at_speed(1, 1), at_speed(0.8, 1));
  EXPECT_TRUE(cell.by_control);
  EXPECT_EQ(cell.difference->verdict, Verdict::same);
  EXPECT_NEAR(cell.raw_ratio, 1.25, 1e-3);
}

TEST(Noise, ASlowerProgramIsFoundOnAMachineThatSpedUp) {
  const ComparedCell cell = compared(at_speed(1, 1), at_speed(1.2, 1.1));
  EXPECT_EQ(cell.difference->verdict, Verdict::slower);
  EXPECT_LT(cell.raw_ratio, 1);
}

TEST(Noise, WithoutTheSameControlTheTimesAreCompared) {
  EXPECT_FALSE(compared(at_speed(1, 1), at_speed(0.8, 1, false)).by_control);
  record::CellResult other = at_speed(0.8, 1);
  other.control->isa = "avx512";
  const ComparedCell cell = compared(at_speed(1, 1), other);
  EXPECT_FALSE(cell.by_control);
  EXPECT_EQ(cell.difference->verdict, Verdict::slower);
}

TEST(Noise, TheFloorIsTheNinetyFifthPercentileOfEqualPairs) {
  std::vector<record::CellResult> results;
  EXPECT_FALSE(noise_floor(results));
  for (int i = 1; i <= 20; ++i) {
    results.push_back(at_speed(1, 1));
    results.back().again = record::Again{i % 2 == 0 ? 1 + 0.01 * i : 1 - 0.01 * i, {1e-3}, {}};
  }
  ASSERT_TRUE(noise_floor(results));
  EXPECT_NEAR(noise_floor(results)->floor, 0.19, 1e-12);
  EXPECT_EQ(noise_floor(results)->count, 20u);
}

TEST(Noise, CompareTakesTheFloorFromTheCellsUnlessTheEnvironmentHasOne) {
  record::CellResult noisy = at_speed(1, 1);
  noisy.again = record::Again{1.25, {1e-3}, {100}};
  record::ResultsFolder folder = folder_of(noisy);
  EXPECT_DOUBLE_EQ(recorded_noise_floor(folder), 0.25);
  folder.environment["noise"]["floor"] = 0.5;
  EXPECT_DOUBLE_EQ(recorded_noise_floor(folder), 0.5);
}

TEST(Noise, ATimeBeyondThePeakIsImpossible) {
  record::CellResult result = at_speed(1, 1);
  result.peak_fraction = 1.04;
  EXPECT_EQ(beyond_peak(result), "");
  result.peak_fraction = 1.2;
  EXPECT_NE(beyond_peak(result).find("120 %"), std::string::npos);
  result.control->gflops = {80, 80, 80, 100, 100, 100, 100, 120, 120};  // scatters by 40 %
  EXPECT_EQ(beyond_peak(result), "");
  result.control.reset();
  EXPECT_NE(beyond_peak(result), "");
}

TEST(Noise, LinesGiveBackControlAndSecondTiming) {
  record::CellResult result = at_speed(1, 1);
  result.again = record::Again{1.01, {1e-3, 2e-3}, {100, 101}};
  const nlohmann::ordered_json line = to_json(result);
  EXPECT_EQ(to_json(record::from_json(line)), line);
  EXPECT_EQ(record::from_json(line).control->gflops, result.control->gflops);
  nlohmann::ordered_json torn = line;
  torn["control"]["gflops"].erase(0);
  EXPECT_ANY_THROW(record::from_json(torn));
}

TEST(Noise, SamplesTakeAReadingBeforeAndAfter) {
  double reading = 0;
  machine::TimedTask task{"task", [] {}, 3, 1e-4, [&] { return machine::Reading{reading += 2}; }};
  machine::TimedSamples taken;
  machine::time_interleaved(
      {task}, [&](std::size_t, const machine::TimedSamples& samples) { taken = samples; });
  ASSERT_EQ(taken.control.size(), 3u);
  ASSERT_EQ(taken.seconds.size(), 3u);
  // Readings 2k and 2k + 2 around a sample have an odd mean, and each sample has its own two.
  EXPECT_EQ(taken.control[1], taken.control[0] + 4);
  EXPECT_EQ(taken.control[2], reading - 1);
}

}  // namespace
}  // namespace headroom::judge::noise_test
