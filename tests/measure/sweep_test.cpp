// A sweep as a whole: what it records of its options, and that it can be stopped at any step.
#include "measure/sweep.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"
#include "measure/roofs.hpp"
#include "plan/budget.hpp"
#include "support/child.hpp"
#include "support/sample_results.hpp"
#include "support/small_request.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::measure::sweep_test {
namespace {

using Sweeps = test::TemporaryFolder;
using test::small_request;

// How often the kernel that follows the first one was called.
std::atomic<int> reads{0};

double slow_fma(std::int64_t iterations, float*) {
  std::this_thread::sleep_for(std::chrono::microseconds(iterations));
  return static_cast<double>(iterations);
}

double interrupted_fma(std::int64_t iterations, float* sink) {
  static std::atomic<bool> sent{false};
  if (!sent.exchange(true)) std::raise(SIGTERM);
  return slow_fma(iterations, sink);
}

float counted_read(const float*, std::int64_t) {
  ++reads;
  return 0;
}

machine::LimitKernels plain_kernels(const Target&) { return {slow_fma, counted_read}; }
machine::LimitKernels interrupted_kernels(const Target&) { return {interrupted_fma, counted_read}; }

TEST(SweepEnvironment, HoldsTheOptionsThatChangeAResult) {
  SweepRequest request = small_request(plain_kernels);
  const auto before = prepare_sweep(request).environment({})["sweep"];
  EXPECT_TRUE(before.at("timeout_s").is_null());
  EXPECT_TRUE(before.at("memory_asked_bytes").is_null());
  request.timeout = 1.5;
  request.max_memory = 1 << 20;
  const auto sweep = prepare_sweep(request).environment({})["sweep"];
  EXPECT_EQ(sweep.at("timeout_s"), 1.5);
  EXPECT_EQ(sweep.at("memory_asked_bytes"), 1 << 20);
}

// Half the rate of the multiply-adds.
double slow_tile(std::int64_t iterations, float* sink) { return slow_fma(iterations, sink) / 2; }

TEST(SweepLines, HoldBothRatesBesideEachSample) {
  const PreparedSweep sweep = prepare_sweep(small_request(nullptr));
  Settings settings;
  settings.timing = sweep.settings.timing;
  settings.timing.repetitions = settings.timing.processes = 2;
  settings.memory_limit = sweep.settings.memory_limit;
  settings.kernels = {slow_fma, nullptr, slow_tile};
  const plan::Group& group = sweep.plan.groups.front();
  const Problem problem = make_problem({group.shape, {}}, 1, reference::Data::standard, 1e9);
  plan::Estimator estimator;
  Part part;
  const MeasureEvents events{[](const std::string&) {}, [&](const Part& done) { part = done; }};
  Assignment assigned;
  measure_round({group, problem}, {0, {assigned}}, settings, estimator, events);
  ASSERT_EQ(part.result.status, record::Status::ok) << part.result.reason;
  ASSERT_TRUE(part.result.control.has_value());
  const std::size_t samples = part.result.time.samples.size();
  EXPECT_EQ(part.result.control->gflops.size(), samples);
  EXPECT_EQ(part.result.control->tile_gflops.size(), samples);
}

record::CellResult part_of(double seconds, double tile_gflops) {
  record::CellResult part =
      test::with_time(test::sample_result("naive"), std::vector<double>(2, seconds));
  part.control = record::Control{"avx2", 1, {100, 100}, {}, {tile_gflops, tile_gflops}};
  return part;
}

TEST(SweepLines, JoinTheTilesOfAllProcessesIntoAShare) {
  const record::CellResult first = part_of(1e-6, 80);
  const record::CellResult second = part_of(2e-6, 40);
  const record::CellResult whole = join_parts({first, second}, {}, 1);
  EXPECT_EQ(whole.control->tile_gflops, (std::vector<double>{80, 80, 40, 40}));
  const double flops = whole.shape.flops().total();
  // Every sample took the time that tiles of as many operations would have taken, times this.
  EXPECT_NEAR(whole.tile_fraction.value(), flops * 1e-9 / (1e-6 * 80), 1e-12);
  record::CellResult without = second;
  without.control->tile_gflops.clear();
  const record::CellResult partly = join_parts({first, without}, {}, 1);
  EXPECT_TRUE(partly.control->tile_gflops.empty()) << "some processes say nothing of the others";
  EXPECT_FALSE(partly.tile_fraction.has_value());
}

TEST(Peaks, EndAsSoonAsTheyAreStopped) {
  reads = 0;
  const record::Peaks peaks =
      measure_peaks({Isa::sse42}, {1, 2}, plain_kernels, [] { return true; });
  EXPECT_TRUE(peaks.fma_gflops.empty());
  EXPECT_TRUE(peaks.read_gbs.empty());
  EXPECT_EQ(reads, 0);
}

TEST(Peaks, AreCountedForEachNumberOfThreads) {
  SweepRequest request = small_request(plain_kernels);
  const plan::Plan plan = prepare_sweep(request).plan;
  EXPECT_EQ(seconds_to_measure_peaks(plan, nullptr), 0);
  const double once = seconds_to_measure_peaks(plan, plain_kernels);
  EXPECT_GT(once, machine::kPeakSeconds + machine::kSustainedSeconds + machine::kReadSeconds);
  plan::Plan twice = plan;
  twice.groups[0].cells.push_back(twice.groups[0].cells[0]);
  twice.groups[0].cells.back().threads = 7;
  EXPECT_DOUBLE_EQ(seconds_to_measure_peaks(twice, plain_kernels), 2 * once);
  const PreparedSweep sweep = prepare_sweep(request);
  EXPECT_DOUBLE_EQ(sweep.seconds({}) - once,
                   plan::plan_seconds(plan, sweep.settings.timing, plan::Estimator()));
}

// In a child: the signal is the whole process's.
TEST_F(Sweeps, AreStoppedWhileTheLimitsAreMeasured) {
  const std::string outcome = test::in_child([&] {
    std::string notes;
    const SweepOutcome sweep = run_sweep(prepare_sweep(small_request(interrupted_kernels)),
                                         {path_ / "results", false, [](const std::string&) {},
                                          [&](const std::string& note) { notes += note; }});
    return notes + "; " + std::to_string(sweep.results.size()) + " cells, " +
           std::to_string(reads) + " reads";
  });
  EXPECT_EQ(outcome,
            "measuring the limits of this machine before the first cell; 0 cells, 0 reads");
  EXPECT_FALSE(std::filesystem::exists(path_ / "results" / "environment.json"))
      << "a sweep that has no cell has nothing to continue";
}

}  // namespace
}  // namespace headroom::measure::sweep_test
