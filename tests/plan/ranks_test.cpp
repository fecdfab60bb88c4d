// Cells whose heads are divided over several processes: which there are, and what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "plan/expand.hpp"
#include "processor/cores.hpp"

namespace headroom::plan::ranks_test {
namespace {

Axes on_ranks(const char* ranks) {
  Axes axes;
  axes.backend = "naive";
  axes.formulation = "split";
  axes.heads = "4";
  axes.d_model = "64";
  axes.tokens = "8";
  axes.threads = "1";
  if (ranks != nullptr) axes.ranks = ranks;
  return axes;
}

Plan started(const Axes& axes, int ranks_here) { return expand(axes, {1, false, ranks_here}); }

std::string error_of(const char* ranks, int ranks_here) {
  try {
    started(on_ranks(ranks), ranks_here);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> ids(const Plan& plan) {
  std::vector<std::string> all;
  for (const Cell& cell : plan.groups.at(0).cells) all.push_back(cell.id);
  return all;
}

TEST(Ranks, AreOneUnlessGivenAndThenNameTheCell) {
  EXPECT_EQ(ids(expand(on_ranks(nullptr), {})),
            (std::vector<std::string>{"split/naive/f32/t1/B1_T8_D64_H4"}));
  const Plan plan = started(on_ranks("1-4*2"), 4);
  EXPECT_EQ(ids(plan), (std::vector<std::string>{"split/naive/f32/t1/B1_T8_D64_H4",
                                                 "split/naive/f32/r2t1/B1_T8_D64_H4",
                                                 "split/naive/f32/r4t1/B1_T8_D64_H4"}));
  EXPECT_EQ(plan.groups[0].cells[2].ranks, 4);
  EXPECT_EQ(plan.groups[0].cells[2].order, 2u);
}

TEST(Ranks, AutoStandsOnEveryNumberOfThem) {
  Axes axes = on_ranks("1,2");
  axes.backend = "auto";
  EXPECT_EQ(ids(started(axes, 2)), (std::vector<std::string>{"split/auto/f32/t1/B1_T8_D64_H4",
                                                             "split/auto/f32/r2t1/B1_T8_D64_H4"}));
}

TEST(Ranks, MoreThanWereStartedAreRefusedWithTheCommandThatStartsThem) {
  const std::string none = error_of("1,4", 1);
  for (const char* part :
       {"--ranks: 4 ranks, but 1 process was started", "at most as many are allowed",
        "mpirun -n 4 headroom sweep --ranks 1,4 ..."}) {
    EXPECT_NE(none.find(part), std::string::npos) << part << " in: " << none;
  }
  EXPECT_NE(error_of("3", 2).find("2 processes were started"), std::string::npos);
  EXPECT_EQ(error_of("2", 2), "");
}

TEST(Ranks, WhatIsNoNumberOfThemIsRefused) {
  const std::string most = error_of("4097", kMaxRanks);
  EXPECT_NE(most.find("--ranks: 4097 is too many; the limit is 4096"), std::string::npos) << most;
  for (const char* text : {"0", "-1", "two", ""}) {
    EXPECT_NE(error_of(text, kMaxRanks).find("--ranks"), std::string::npos) << text;
  }
  EXPECT_EQ(on_ranks("4096").ranks.values(), std::vector<int>{kMaxRanks});
}

bool warned(const Cell& cell, const std::string& of) {
  return std::any_of(cell.warnings.begin(), cell.warnings.end(), [&](const std::string& warning) {
    return warning.find(of) != std::string::npos;
  });
}

TEST(Ranks, WithoutAHeadAreAllowedAndSaidToHaveNothingToDo) {
  Axes axes = on_ranks("4,6");
  const std::vector<Cell> cells = started(axes, 6).groups.at(0).cells;
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_FALSE(warned(cells[0], "nothing to do"));
  EXPECT_TRUE(warned(cells[1], "6 ranks share 4 heads: 2 of them have nothing to do"));
}

TEST(Ranks, OnMoreThreadsThanThereAreCoresAreWarnedOf) {
  const int cores = allowed_cores();
  const Plan enough = started(on_ranks(std::to_string(cores).c_str()), kMaxRanks);
  EXPECT_TRUE(enough.warnings.empty());
  EXPECT_FALSE(warned(enough.groups[0].cells[0], "if all ranks are on this machine"));
  const Plan more = started(on_ranks(std::to_string(cores + 1).c_str()), kMaxRanks);
  ASSERT_EQ(more.warnings.size(), 1u);
  EXPECT_NE(more.warnings[0].find("if all ranks are on this machine"), std::string::npos);
  EXPECT_TRUE(warned(more.groups[0].cells[0], "if all ranks are on this machine"));
}

Cell naive_on(int ranks) {
  Cell cell;
  cell.backend = "naive";
  cell.ranks = ranks;
  return cell;
}

Case of_groups() {
  Case shape;
  shape.tokens = 512;
  shape.d_in = shape.d_out = shape.d_proj = 512;
  shape.heads = 8;
  shape.kv_heads = 4;
  return shape;
}

TEST(Ranks, DivideTheEstimatedWorkDownToOneKeyHead) {
  const Estimator estimator;
  const auto seconds = [&](int ranks) {
    return estimator.forward_seconds(of_groups(), naive_on(ranks));
  };
  EXPECT_NEAR(seconds(2), seconds(1) / 2, 0.01 * seconds(1));
  EXPECT_NEAR(seconds(4), seconds(1) / 4, 0.01 * seconds(1));
  EXPECT_EQ(seconds(8), seconds(4)) << "eight ranks repeat the work of four key heads";
}

TEST(Ranks, HoldTheWeightsOnceInAllAndAnXAndYEach) {
  const Case shape = of_groups();
  const auto x_and_y = static_cast<std::int64_t>(2) * 4 * 512 * 512;
  const std::int64_t one = cell_bytes(shape, naive_on(1));
  const std::int64_t workspace = one - shape.bytes().weights;
  EXPECT_EQ(cell_bytes(shape, naive_on(4)), one + 3 * (workspace + x_and_y));
}

TEST(Ranks, HaveACorrectionOfTheirOwn) {
  Estimator estimator;
  const double alone = estimator.forward_seconds(of_groups(), naive_on(1));
  const double two = estimator.forward_seconds(of_groups(), naive_on(2));
  estimator.observe(of_groups(), naive_on(2), 10 * two);
  EXPECT_NEAR(estimator.forward_seconds(of_groups(), naive_on(2)), 10 * two, 1e-9 * two);
  EXPECT_EQ(estimator.forward_seconds(of_groups(), naive_on(1)), alone);
}

}  // namespace
}  // namespace headroom::plan::ranks_test
