// Cold caches: the buffer that empties them is larger than all of them, or the run is refused.
#include "measure/cache_emptier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <string>

#include "machine/processor.hpp"
#include "measure/group/group_measurement.hpp"
#include "measure/sweep.hpp"
#include "plan/expand.hpp"
#include "processor/cores.hpp"
#include "program/exit_code.hpp"
#include "support/small_request.hpp"

namespace headroom::measure::cache_emptier_test {
namespace {

float no_read(const float*, std::int64_t) { return 0; }

std::atomic<int> reads{0};
float counted_read(const float*, std::int64_t) {
  ++reads;
  return 0;
}

machine::LimitKernels counting_kernels(const Target&) { return {nullptr, counted_read}; }

SweepRequest cold_request() {
  SweepRequest request = test::small_request(counting_kernels);
  request.cache = plan::CacheState::cold;
  return request;
}

TEST(ColdCaches, AreRefusedWhereMemoryIsSmallerThanTheCaches) {
  std::string message;
  try {
    CacheEmptier().prepare(no_read, 4096);
  } catch (const ResourceError& error) {
    message = error.what();
  }
  EXPECT_TRUE(message.starts_with("--cache cold: ")) << message;
  EXPECT_NE(message.find("--cache warm"), std::string::npos) << message;
  EXPECT_THROW(require_emptiable_caches(4096), ResourceError);
}

TEST(ColdCaches, AreEmptiedWithMoreThanTheyHold) {
  const std::int64_t all = machine::describe_processor().all_caches_bytes();
  if (all == 0) GTEST_SKIP() << "the caches of this machine are unknown";
  require_emptiable_caches(std::numeric_limits<std::int64_t>::max());
  CacheEmptier emptier;
  emptier.prepare(no_read, 6 * all);
  EXPECT_GT(emptier.bytes(), all);
  EXPECT_LE(emptier.bytes(), 6 * all / 4);
}

TEST(ColdCaches, AreRefusedBeforeAnythingIsMeasuredAndForADryRunToo) {
  SweepRequest request = cold_request();
  request.max_memory = 4096;
  reads = 0;
  EXPECT_THROW(prepare_sweep(request), ResourceError);
  EXPECT_EQ(reads, 0);
}

// One emptying before the check's pass, and one before each pass whose phases are recorded.
TEST(ColdCaches, AreEmptiedBeforeThePhasesAsBeforeTheTime) {
  if (machine::describe_processor().all_caches_bytes() == 0) {
    GTEST_SKIP() << "the caches of this machine are unknown";
  }
  const PreparedSweep sweep = prepare_sweep(cold_request());
  Settings settings;
  settings.timing = sweep.settings.timing;
  settings.kernels.read = counted_read;
  settings.memory_limit = sweep.settings.memory_limit;
  settings.timing.repetitions = 2;
  int before_timing = 0;
  int finished = 0;
  reads = 0;
  const MeasureEvents events{[&](const std::string& what) {
                               if (what.starts_with("timing")) before_timing = reads;
                             },
                             [&](const Part& part) {
                               ++finished;
                               EXPECT_EQ(part.result.status, record::Status::ok)
                                   << part.result.reason;
                             }};
  plan::Estimator estimator;
  const plan::Group& group = sweep.plan.groups.front();
  const Problem problem = make_problem({group.shape, {}}, 1, reference::Data::standard, 1e9);
  measure_round({group, problem}, {0, {Assignment{}}}, settings, estimator, events);
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(before_timing, (1 + plan::kPhaseRuns) * allowed_cores());
  // A layer as small as this is timed twice, and of two samples this process takes one.
  EXPECT_EQ(reads, (1 + plan::kPhaseRuns + 2) * allowed_cores());
}

}  // namespace
}  // namespace headroom::measure::cache_emptier_test
