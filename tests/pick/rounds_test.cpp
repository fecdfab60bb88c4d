// Measuring on where a pick is open, with rounds that no machine measured.
#include "pick/rounds.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pick/contest.hpp"
#include "program/exit_code.hpp"
#include "support/sample_results.hpp"

namespace headroom::rounds_test {
namespace {

using pick::Contest;
using pick::Pick;
using record::CellResult;

// In milliseconds: each sample of a launch of its own, or each three if there are many.
const std::vector<double> kWide{0.94, 0.95, 0.97, 0.99, 1.9, 1.93, 1.95, 1.97, 1.98};
const std::vector<double> kFast(9, 1.0);
const std::vector<double> kFastAgain(90, 1.0);
const std::vector<double> kAsFast(90, 1.005);
const std::vector<double> kSlow(90, 1.8);

CellResult timed(const std::string& backend, const std::vector<double>& milliseconds) {
  std::vector<double> samples;
  std::vector<int> processes;
  for (const double each : milliseconds) {
    processes.push_back(static_cast<int>(samples.size()) / (milliseconds.size() > 9 ? 3 : 1));
    samples.push_back(1e-3 * each);
  }
  CellResult result = test::with_time(test::sample_result(backend), samples);
  result.time = record::summarise(samples, processes, 1);
  return result;
}

struct Rounds : testing::Test {
  Rounds()
      : folder(test::sample_folder("results", {timed("tbb", kFast), timed("xsimd", kWide),
                                               timed("naive", std::vector<double>(9, 9.0))})) {
    plan::Group group;
    group.shape = test::sample_shape();
    for (const CellResult& result : folder.results) group.cells.push_back(result.cell);
    contest.plan.groups = {group};
    contest.settings.budget = 100;
  }

  // @param xsimd samples of each round; @param took seconds of each
  Pick decide(const std::vector<double>& xsimd, double took) {
    const Pick found = pick::pick_with_rounds(
        contest, folder, {}, [this] { return spent; },
        [&](const plan::Plan& plan, double) {
          plans.push_back(plan);
          spent += took;
          return std::vector{timed("tbb", xsimd == kWide ? kFast : kFastAgain),
                             timed("xsimd", xsimd)};
        });
    note = found.note;
    return found;
  }

  record::ResultsFolder folder;
  Contest contest;
  double spent = 10;
  std::vector<plan::Plan> plans;
  std::string note;
};

TEST_F(Rounds, TheLighterBackendWinsOnceARoundShowsThatItIsAsFast) {
  EXPECT_EQ(decide(kAsFast, 5).choice().backend, "xsimd");
  EXPECT_EQ(plans.size(), 1U);
  EXPECT_EQ(note,
            "measured 1 round more of backends with fewer dependencies; the choice is decided");
}

TEST_F(Rounds, ItLosesOnceARoundShowsThatItIsSlower) {
  EXPECT_EQ(decide(kSlow, 5).choice().backend, "tbb");
  EXPECT_EQ(plans.size(), 1U);
  EXPECT_EQ(note,
            "measured 1 round more of backends with fewer dependencies; the choice is decided");
}

TEST_F(Rounds, OnlyWhatIsOpenAndTheFastestAreMeasuredAgain) {
  decide(kAsFast, 5);
  ASSERT_EQ(plans.at(0).groups.size(), 1U);
  const std::vector<plan::Cell>& cells = plans[0].groups[0].cells;
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].backend, "tbb");
  EXPECT_EQ(cells[1].backend, "xsimd");
}

TEST_F(Rounds, EndWithTheBudgetAndSaySo) {
  const Pick found = decide(kWide, 30);
  EXPECT_EQ(found.sureness, judge::Sureness::unknown);
  EXPECT_EQ(found.choice().backend, "xsimd") << "with fewer dependencies";
  EXPECT_FALSE(found.open.empty());
  EXPECT_EQ(plans.size(), 3U) << "after 10, 40 and 70 s; after 100 there is nothing left";
  EXPECT_EQ(note,
            "measured 3 rounds more of backends with fewer dependencies; the choice is open, and "
            "the budget of 1 m "
            "40 s has no room for another round; a larger --budget measures on");
}

TEST_F(Rounds, ADecidedPickNeedsNone) {
  folder.results[1] = timed("xsimd", kSlow);
  EXPECT_EQ(decide(kWide, 5).choice().backend, "tbb");
  EXPECT_TRUE(plans.empty());
  EXPECT_EQ(note, "");
}

TEST_F(Rounds, SamplesOfARoundAreThoseOfOtherProcesses) {
  decide(kAsFast, 5);
  const record::TimeSummary& time = folder.results[1].time;
  ASSERT_EQ(time.samples.size(), 99U);
  EXPECT_EQ(time.processes.front(), 0);
  EXPECT_EQ(time.processes.at(9), 9);
  EXPECT_EQ(time.processes.back(), 38);
}

// As on a machine that is busy: the plan had room, and the clock has not.
TEST(ContestOfOneShape, WhoseBudgetIsGoneSaysWhichWouldDo) {
  plan::Axes axes;
  axes.backend = "naive";
  axes.heads = "2";
  axes.d_model = "8";
  axes.tokens = "3";
  Contest contest = pick::prepare_contest(axes, {}, 600, nullptr);
  contest.settings.budget = 0;
  try {
    pick::run_contest(contest);
    FAIL() << "a budget of nothing was enough";
  } catch (const ResourceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("went by before any candidate of B1_T3_D8_H2 was measured"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("give --budget "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace headroom::rounds_test
