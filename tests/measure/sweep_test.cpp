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

#include "measure/roofs.hpp"
#include "support/child.hpp"
#include "support/small_request.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::measure {
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

machine::LimitKernels plain_kernels(Isa) { return {slow_fma, counted_read}; }
machine::LimitKernels interrupted_kernels(Isa) { return {interrupted_fma, counted_read}; }

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

TEST(Peaks, EndAsSoonAsTheyAreStopped) {
  reads = 0;
  const record::Peaks peaks = measure_peaks(Isa::sse42, {1, 2}, plain_kernels, [] { return true; });
  EXPECT_TRUE(peaks.fma_gflops.empty());
  EXPECT_TRUE(peaks.read_gbs.empty());
  EXPECT_EQ(reads, 0);
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
}  // namespace headroom::measure
