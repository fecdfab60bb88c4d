#include "plan/estimate.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "measure/runner.hpp"
#include "plan/budget.hpp"
#include "plan/expand.hpp"

namespace headroom::plan::estimate_test {
namespace {

Plan plan_for(const char* model, const char* tokens) {
  Axes axes;
  axes.model = model;
  axes.tokens = tokens;
  axes.backend = "naive";
  return expand(axes, {});
}

TEST(Estimate, MemoryCountsWeightsAndTheTextbooksScores) {
  const Group large = plan_for("gpt3-175b", "16").groups.at(0);
  const std::int64_t weights = std::int64_t{4} * 12288 * 12288 * 4;
  EXPECT_GE(shared_bytes(large.shape), weights);
  EXPECT_GE(cell_bytes(large.shape, large.cells[0]), weights);
  const Group long_sequence = plan_for("gpt2", "46341").groups.at(0);
  EXPECT_GT(cell_bytes(long_sequence.shape, long_sequence.cells[0]),
            std::int64_t{46341} * 46341 * 4);
}

TEST(Estimate, MemoryCountsTheGateOfEachRow) {
  Group group = plan_for("gpt2", "1024").groups.at(0);
  const std::int64_t without = cell_bytes(group.shape, group.cells[0]);
  group.shape.gate = true;
  const std::int64_t weights = std::int64_t{4} * 768 * 768;
  const std::int64_t gates = std::int64_t{4} * 1024 * 768;
  EXPECT_GE(cell_bytes(group.shape, group.cells[0]), without + weights + gates);
}

TEST(Estimate, MemoryOfTheLargestShapesDoesNotWrap) {
  Case shape;
  shape.tokens = std::int64_t{1} << 29;
  shape.d_in = std::int64_t{1} << 29;
  shape.d_out = std::int64_t{1} << 27;
  shape.d_proj = std::int64_t{1} << 29;
  ASSERT_NO_THROW(shape.validate());
  Cell cell;
  cell.backend = "naive";
  EXPECT_GT(cell_bytes(shape, cell), std::int64_t{1} << 60);
  EXPECT_GT(shared_bytes(shape), std::int64_t{1} << 60);
}

TEST(Estimate, LearnsFromWhatWasSeen) {
  const Group group = plan_for("gpt2", "64").groups.at(0);
  Estimator estimator;
  const double before = estimator.forward_seconds(group.shape, group.cells[0]);
  estimator.observe(group.shape, group.cells[0], 10 * before);
  EXPECT_NEAR(estimator.forward_seconds(group.shape, group.cells[0]), 10 * before, before * 1e-9);
  EXPECT_DOUBLE_EQ(estimator.forward_seconds(group.shape, group.cells[1]),
                   Estimator().forward_seconds(group.shape, group.cells[1]))
      << "another formulation has its own correction";
}

TEST(Estimate, LearnsHowLongLayersTakeToMake) {
  const Group large = plan_for("gpt2", "1").groups.at(0);
  const TimingPlan plan;
  Estimator estimator;
  Case wide = large.shape;
  wide.d_in = wide.d_out = wide.d_proj = 4096;
  const Cell& cell = large.cells[0];
  const double before = estimator.cell_seconds(wide, cell, plan);
  estimator.observe_setup(wide, cell, 100);
  const SamplePlan samples = plan.samples(estimator.forward_seconds(wide, cell), 100);
  EXPECT_EQ(samples.processes, kMinProcesses);
  EXPECT_NEAR(estimator.cell_seconds(wide, cell, plan), before + 100 * samples.processes, 4);
  Case narrow = large.shape;
  narrow.d_in = narrow.d_out = narrow.d_proj = 64;
  const double small = estimator.cell_seconds(narrow, cell, plan);
  estimator.observe_setup(narrow, cell, 1e6);
  EXPECT_EQ(estimator.cell_seconds(narrow, cell, plan), small)
      << "a layer with few weights says nothing about packing";
}

TEST(Estimate, CountsWhatStandsBesideEachSampleAndTheSecondTiming) {
  const Group group = plan_for("gpt2", "1").groups.at(0);
  const Estimator estimator;
  TimingPlan plain;
  plain.processes = kMinProcesses;  // with more, their number depends on what a sample costs
  TimingPlan beside = plain;
  beside.beside = 1;
  const Cell& cell = group.cells[0];
  EXPECT_NEAR(estimator.cell_seconds(group.shape, cell, beside),
              estimator.cell_seconds(group.shape, cell, plain) + plain.repetitions, 1e-9);
  EXPECT_NEAR(estimator.group_seconds(group, beside),
              estimator.group_seconds(group, plain) + plain.repetitions, 1e-9);
  TimingPlan cold = plain;
  cold.cold = true;
  EXPECT_DOUBLE_EQ(cold.sample_seconds(1e-3), 1e-3) << "one pass";
  TimingPlan emptied = cold;
  emptied.emptying = 1;
  EXPECT_NEAR(estimator.cell_seconds(group.shape, cell, emptied),
              estimator.cell_seconds(group.shape, cell, cold) + cold.processes + kPhaseRuns +
                  cold.repetitions,
              1e-9)
      << "before each process's check, each pass whose phases are taken and each sample";
  EXPECT_DOUBLE_EQ(plain.sample_seconds(1e-3), plain.min_time);
  EXPECT_DOUBLE_EQ(plain.sample_seconds(0.02), 0.04) << "as many passes as fill the least time";
}

// A backend whose rates are known: 10 ms a pass, 0.1 s to pack, 40 ms to fill the cache.
TEST(Estimate, OfKnownRatesIsTheSumOfWhatIsRun) {
  Group group = plan_for("gpt2", "1").groups.at(0);
  Case& shape = group.shape;
  shape.d_in = shape.d_out = shape.d_proj = 2048;
  shape.past = 128;
  group.cells.resize(1);
  const Cell& cell = group.cells[0];
  Estimator estimator;
  estimator.observe(shape, cell, 0.01);
  estimator.observe_fill(shape, cell, 0.04);
  estimator.observe_setup(shape, cell, 0.1);
  TimingPlan plan;
  plan.beside = 0.02;
  plan.min_time = 0.035;  // four passes
  plan.processes = kMinProcesses;
  const double launches = plan.processes * (0.1 + 0.04 + 0.01);
  const double samples = plan.repetitions * (4 * 0.01 + plan.beside);
  const double of_cell = launches + kPhaseRuns * 0.01 + samples;
  EXPECT_NEAR(estimator.cell_seconds(shape, cell, plan), of_cell, 1e-9);
  const double shared = estimator.group_seconds(group, plan);
  EXPECT_GT(shared, samples) << "the twin is timed like a cell, and there is more";
  Plan whole;
  whole.groups = {group, group};
  EXPECT_NEAR(plan_seconds(whole, plan, estimator), 2 * (of_cell + shared), 1e-9);
  TimingPlan once_more = plan;
  ++once_more.processes;
  EXPECT_NEAR(estimator.group_seconds(group, once_more) - shared, 0.06, 1e-9);
}

TEST(Estimate, RivalsOnAsManyThreadsShareAReading) {
  Plan plan;
  plan.groups.resize(1);
  std::vector<Cell>& cells = plan.groups[0].cells;
  cells.resize(4);
  EXPECT_DOUBLE_EQ(control_seconds(plan), kReadingSeconds) << "the next sample's first";
  cells[0].threads = cells[1].threads = 2;
  EXPECT_DOUBLE_EQ(control_seconds(plan), 1.5 * kReadingSeconds) << "of every other sample";
  cells[0].skip_reason = cells[1].skip_reason = "not run";
  EXPECT_DOUBLE_EQ(control_seconds(plan), kReadingSeconds);
}

TEST(Samples, SlowPassesGetFewerButNeverTooFew) {
  TimingPlan plan;
  EXPECT_EQ(plan.samples(0.01, 0).repetitions, 16);
  EXPECT_EQ(plan.samples(1.5, 0).repetitions, 6);
  EXPECT_EQ(plan.samples(1e9, 0).repetitions, kMinRepetitions);
  plan.repetitions = 1;
  EXPECT_EQ(plan.samples(1e9, 0).repetitions, 1) << "never more than asked for";
  EXPECT_EQ(plan.samples(1e9, 0).processes, 1) << "none without a sample";
}

TEST(Samples, TheLimitOfACellLeavesItOneAtLeast) {
  TimingPlan plan;
  plan.cell_limit = 60;
  EXPECT_EQ(plan.samples(0.01, 10).repetitions, 16);
  EXPECT_EQ(plan.samples(4, 8).repetitions, 5);
  EXPECT_EQ(plan.samples(4, 8).processes, kMinProcesses);
  EXPECT_EQ(plan.samples(13, 15).repetitions, 2);
  EXPECT_EQ(plan.samples(13, 15).processes, 2);
  EXPECT_EQ(plan.samples(13, 59).repetitions, 1);
  EXPECT_EQ(plan.samples(100, 0).repetitions, 1);
}

TEST(Samples, ComeFromAsManyProcessesAsTheirLaunchesAreWorth) {
  const TimingPlan plan;
  EXPECT_EQ(plan.samples(0.01, 0.001).processes, plan.processes);
  // One process takes 0.5 s and then 16 x 0.03 s: a third one costs more than it may.
  EXPECT_EQ(plan.samples(0.01, 0.5).processes, kMinProcesses);
  TimingPlan many;
  many.processes = 20;
  many.repetitions = 40;
  // 0.1 s + 40 x 0.03 s, of which 30 % are 3.9 launches.
  EXPECT_EQ(many.samples(0.01, 0.1).processes, 4);
}

TEST(Samples, AreSharedAmongProcessesAsEquallyAsPossible) {
  const SamplePlan plan{5, 12};
  std::vector<int> shares;
  for (int process = 0; process < 5; ++process) shares.push_back(plan.share(process));
  EXPECT_EQ(shares, (std::vector<int>{3, 3, 2, 2, 2}));
}

TEST(Budget, TakesRepetitionsFirstAndThenTheDearestCells) {
  const Estimator estimator;
  Plan plan = plan_for("gpt2", "16,1024");
  TimingPlan timing;
  timing.min_time = 0.5;
  const double whole = plan_seconds(plan, timing, estimator);

  fit_budget(plan, timing, whole * 2, estimator);
  EXPECT_EQ(timing.repetitions, 16);
  EXPECT_DOUBLE_EQ(plan_seconds(plan, timing, estimator), whole);

  fit_budget(plan, timing, whole * 0.95, estimator);
  EXPECT_LT(timing.repetitions, 16);
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) EXPECT_EQ(cell.skip_reason, "");
  }

  fit_budget(plan, timing, whole / 3, estimator);
  EXPECT_LE(plan_seconds(plan, timing, estimator), whole / 3);
  EXPECT_EQ(plan.groups[0].cells[0].skip_reason, "") << "the cheap cells stay";
  EXPECT_NE(plan.groups[1].cells[0].skip_reason.find("budget"), std::string::npos);
}

}  // namespace
}  // namespace headroom::plan::estimate_test
