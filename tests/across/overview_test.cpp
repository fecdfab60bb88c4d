#include "across/overview.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "judge/competes.hpp"
#include "support/sample_machines.hpp"

namespace headroom::across::overview_test {
namespace {

using judge::Verdict;
using test::around;
using test::environment_of;
using test::machine_cell;

class Several : public test::Machines {
 protected:
  // The answers refer to it.
  const Overview& over(const std::vector<Source>& sources, const std::vector<Price>& prices = {}) {
    collection_ = gather(sources, prices);
    overview_ = look_over(collection_);
    return overview_;
  }
  const Standing& standing(std::size_t contest, std::size_t machine) const {
    return *overview_.contests.at(contest).on(machine);
  }

  Collection collection_;
  Overview overview_;
};

TEST_F(Several, TheWinnerOfEachMachineIsItsOwn) {
  const auto a =
      folder("a", {machine_cell("xsimd", 2, around(1e-3)), machine_cell("onednn", 2, around(2e-3))},
             environment_of("Alpha"));
  const auto b =
      folder("b", {machine_cell("xsimd", 2, around(5e-3)), machine_cell("onednn", 2, around(3e-3))},
             environment_of("Beta"));
  over({{"", a}, {"", b}});
  EXPECT_EQ(standing(0, 0).choice, "xsimd");
  EXPECT_EQ(standing(0, 1).choice, "onednn");
  EXPECT_EQ(standing(0, 0).sureness, judge::Sureness::clear);
  EXPECT_EQ(standing(0, 1).sureness, judge::Sureness::clear);
}

TEST_F(Several, WhatTheSamplesDoNotTellApartIsNotRanked) {
  const auto wide = [](double middle) { return around(middle, 0.2); };
  const auto a =
      folder("a",
             {machine_cell("xsimd", 2, wide(1e-3)), machine_cell("onednn", 2, wide(1.05e-3)),
              machine_cell("xsimd", 4, around(1e-3)), machine_cell("onednn", 4, around(1.002e-3)),
              machine_cell("tbb", 6, around(1e-3))},
             environment_of("Alpha"));
  over({{"", a}});
  EXPECT_EQ(standing(0, 0).sureness, judge::Sureness::unknown);
  EXPECT_EQ(standing(1, 0).sureness, judge::Sureness::tie);
  EXPECT_EQ(standing(2, 0).sureness, judge::Sureness::alone);
}

TEST_F(Several, WhatIsNotVerifiedWinsNothing) {
  const auto a = folder("a",
                        {machine_cell("xsimd", 2, around(4e-3)),
                         test::not_checked(machine_cell("tbb", 2, around(1e-3))),
                         test::beyond_limit(machine_cell("onednn", 2, around(2e-3))),
                         test::on_ranks(machine_cell("xsimd", 2, around(1e-3)), 2),
                         test::without_time(machine_cell("autovec", 2, around(1e-3)),
                                            record::Status::failed, "wrong")},
                        environment_of("Alpha"));
  const Overview& overview = over({{"", a}});
  ASSERT_EQ(standing(0, 0).rivals.size(), 1U);
  EXPECT_EQ(standing(0, 0).fastest().backend(), "xsimd");
  EXPECT_EQ(overview.verified_cells(0), 2U);
  EXPECT_EQ(judge::why_not_verified(collection_.entries[0].folder.results[2]),
            "its error is beyond its limit");
  for (const Joined& joined : overview.cells) EXPECT_EQ(joined.places.size(), 1U);
}

TEST_F(Several, APeerWinsNothingAndIsInNoMatrix) {
  for (const char* name : {"a", "b"}) {
    nlohmann::ordered_json environment = environment_of(name);
    environment["peers"]["torch"]["version"] = "1";
    folder(name, {machine_cell("xsimd", 2, around(4e-3)), machine_cell("torch", 2, around(1e-3))},
           environment);
  }
  const Overview& overview = over({{"", path_ / "a"}, {"", path_ / "b"}});
  EXPECT_EQ(standing(0, 0).fastest().backend(), "xsimd");
  ASSERT_EQ(overview.matrices.shown.size(), 1U);
  ASSERT_EQ(overview.matrices.shown[0].cells.size(), 1U);
  EXPECT_EQ(overview.matrices.shown[0].cells[0].pairs.size(), 1U);
}

TEST_F(Several, OneBackendForAllLosesAtWorstWhatItLosesSomewhere) {
  const auto a = folder(
      "a", {machine_cell("xsimd", 2, around(1e-3)), machine_cell("onednn", 2, around(1.5e-3))},
      environment_of("Alpha"));
  const auto b = folder(
      "b", {machine_cell("xsimd", 2, around(1.2e-3)), machine_cell("onednn", 2, around(1e-3))},
      environment_of("Beta"));
  const Overview& overview = over({{"", a}, {"", b}});
  ASSERT_EQ(overview.lone.size(), 1U);
  const LoneBackend& lone = overview.lone.front();
  EXPECT_EQ(lone.chosen().backend, "xsimd");
  EXPECT_EQ(lone.agreeing(), 1U);
  EXPECT_EQ(lone.chosen().good, 1U);
  EXPECT_EQ(lone.chosen().behind, 1U);
  EXPECT_NEAR(lone.chosen().worst.rival->to_fastest.ratio, 1.2, 1e-9);
  EXPECT_EQ(lone.chosen().worst.standing->machine, 1U);
}

TEST_F(Several, AMachineWithManyShapesCountsAsMuchAsOneWithFew) {
  std::vector<record::CellResult> many;
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 6}) {
    many.push_back(machine_cell("xsimd", heads, around(1e-3)));
    many.push_back(machine_cell("onednn", heads, around(1.1e-3)));
  }
  const auto a = folder("a", many, environment_of("Alpha"));
  const auto b = folder(
      "b", {machine_cell("xsimd", 2, around(1.5e-3)), machine_cell("onednn", 2, around(1e-3))},
      environment_of("Beta"));
  EXPECT_EQ(over({{"", a}, {"", b}}).lone.front().chosen().backend, "onednn");
}

TEST_F(Several, MachinesAreComparedByTheirTimesAndNotByTheirControls) {
  // Divided by the controls, both would be the same.
  const auto a = folder("a", {test::with_control(machine_cell("xsimd", 2, around(1e-3)), 100)},
                        environment_of("Alpha"));
  const auto b = folder("b", {test::with_control(machine_cell("xsimd", 2, around(2e-3)), 50)},
                        environment_of("Beta"));
  const Overview& overview = over({{"", a}, {"", b}});
  const judge::Difference& found = overview.matrices.shown.at(0).fastest.at(0).difference;
  EXPECT_NEAR(found.ratio, 2, 1e-9);
  EXPECT_EQ(found.verdict, Verdict::slower);
}

TEST_F(Several, VersionsOfOneMachineAreComparedByTheirControls) {
  const auto a = folder("a", {test::with_control(machine_cell("xsimd", 2, around(1e-3)), 100)},
                        environment_of("Alpha", "aaaaaaaaaaaa", "2026-01-01T00:00:00Z"));
  const auto b = folder("b", {test::with_control(machine_cell("xsimd", 2, around(2e-3)), 50)},
                        environment_of("Alpha", "bbbbbbbbbbbb", "2026-02-01T00:00:00Z"));
  const Overview& overview = over({{"", b}, {"", a}});
  ASSERT_EQ(overview.changes.size(), 1U);
  EXPECT_EQ(overview.changes[0].versus.base.entry, 0U);
  EXPECT_NEAR(overview.changes[0].versus.difference.ratio, 1, 1e-9);
  EXPECT_EQ(overview.changes[0].versus.difference.verdict, Verdict::same);
}

TEST_F(Several, TheLargerNoiseFloorOfBothMachinesIsTheMargin) {
  nlohmann::ordered_json noisy = environment_of("Beta");
  noisy["noise"]["floor"] = 0.2;
  const auto a = folder("a", {machine_cell("xsimd", 2, around(1e-3))}, environment_of("Alpha"));
  const auto b = folder("b", {machine_cell("xsimd", 2, around(1.1e-3))}, noisy);
  const Overview& overview = over({{"", a}, {"", b}});
  const judge::Difference& found = overview.matrices.shown.at(0).fastest.at(0).difference;
  EXPECT_EQ(found.margin, 0.2);
  EXPECT_EQ(found.verdict, Verdict::same);
}

TEST_F(Several, AMachineIsShownByItsNewestFolderWithSomethingToChooseFrom) {
  const auto old = folder(
      "old", {machine_cell("xsimd", 2, around(1e-3)), machine_cell("onednn", 2, around(2e-3))},
      environment_of("Alpha", "aaaaaaaaaaaa", "2026-01-01T00:00:00Z"));
  const auto middle = folder(
      "middle", {machine_cell("xsimd", 2, around(3e-3)), machine_cell("onednn", 2, around(2e-3))},
      environment_of("Alpha", "bbbbbbbbbbbb", "2026-02-01T00:00:00Z"));
  const auto last = folder("last", {machine_cell("xsimd", 2, around(1e-3))},
                           environment_of("Alpha", "cccccccccccc", "2026-03-01T00:00:00Z"));
  over({{"", old}, {"", middle}, {"", last}});
  EXPECT_EQ(standing(0, 0).entry, 1U);
  EXPECT_EQ(standing(0, 0).choice, "onednn");
}

TEST_F(Several, ColdCellsAreNoRivalsOfWarmOnes) {
  const auto a =
      folder("a", {machine_cell("xsimd", 2, around(1e-3)), machine_cell("onednn", 2, around(2e-3))},
             environment_of("Alpha"));
  nlohmann::ordered_json cold = environment_of("Alpha");
  cold["sweep"]["cache"] = "cold";
  const auto b = folder("b",
                        {test::cold(machine_cell("xsimd", 2, around(4e-3))),
                         test::cold(machine_cell("onednn", 2, around(3e-3)))},
                        cold);
  const Overview& overview = over({{"", a}, {"", b}});
  ASSERT_EQ(overview.contests.size(), 2U);
  ASSERT_EQ(overview.cold.size(), 1U);
  EXPECT_NEAR(overview.cold[0].versus.difference.ratio, 4, 1e-9);
  EXPECT_EQ(overview.lone.at(0).contests.size(), 1U);
  EXPECT_EQ(overview.lone.at(0).chosen().backend, "xsimd");
}

TEST_F(Several, LessExactNumbersStandBesideF32AndWinNothing) {
  const auto a =
      folder("a",
             {machine_cell("xsimd", 2, around(1e-3)),
              test::computed_as(machine_cell("xsimd", 2, around(4e-4)), Precision::bf16)},
             environment_of("Alpha"));
  const Overview& overview = over({{"", a}});
  ASSERT_EQ(overview.precisions.size(), 1U);
  ASSERT_EQ(overview.precisions[0].points.size(), 2U);
  EXPECT_NEAR(overview.precisions[0].points[1].to_f32.ratio, 0.4, 1e-9);
  EXPECT_EQ(overview.lone.at(0).contests.size(), 1U);
  EXPECT_EQ(overview.lone.at(0).contests[0]->numbers, Numbers{});
}

TEST_F(Several, TheCheaperMachineMayGiveMoreForTheMoney) {
  const auto a = folder("a", {machine_cell("xsimd", 2, around(1e-3))}, environment_of("Alpha"));
  const auto b = folder("b", {machine_cell("xsimd", 2, around(2e-3))}, environment_of("Beta"));
  const auto c = folder("c", {machine_cell("xsimd", 2, around(2e-3))}, environment_of("Gamma"));
  const Overview& overview =
      over({{"fast", a}, {"slow", b}, {"free", c}}, {{"fast", 0.36}, {"slow", 0.09}});
  ASSERT_EQ(overview.value.size(), 1U);
  const ValueRow& row = overview.value[0];
  ASSERT_EQ(row.points.size(), 2U);
  EXPECT_EQ(collection_.machines[row.points[0].machine].name, "slow");
  EXPECT_NEAR(row.points[0].passes, 3600 / 0.09 / 2e-3, 1);
  EXPECT_NEAR(row.points[1].to_best.ratio, 2, 1e-9);
  EXPECT_EQ(row.points[1].to_best.verdict, Verdict::slower);
}

TEST_F(Several, AllClaimsAreCorrectedTogether) {
  const auto a =
      folder("a", {machine_cell("xsimd", 2, around(1e-3)), machine_cell("onednn", 2, around(2e-3))},
             environment_of("Alpha"));
  const auto b =
      folder("b", {machine_cell("xsimd", 2, around(2e-3)), machine_cell("onednn", 2, around(4e-3))},
             environment_of("Beta"));
  // Two rivals, the fastest of each, and two cells on both.
  EXPECT_EQ(over({{"", a}, {"", b}}).comparisons, 5U);
}

TEST_F(Several, NamesWhatDiffersAndMarksTheCellsThatItTouches) {
  const auto with_library = [](const char* processor, const char* version) {
    nlohmann::ordered_json environment = environment_of(processor);
    environment["backends"] = {{{"name", "onednn"}, {"library", version}},
                               {{"name", "xsimd"}, {"library", "xsimd 8"}}};
    return environment;
  };
  nlohmann::ordered_json other = with_library("Beta", "oneDNN 3");
  other["build"]["flags"] = "-O2";
  const std::vector<record::CellResult> cells{machine_cell("xsimd", 2, around(1e-3)),
                                              machine_cell("onednn", 2, around(2e-3))};
  const auto a = folder("a", cells, with_library("Alpha", "oneDNN 2"));
  const auto b = folder("b", cells, other);
  const Overview& overview = over({{"", a}, {"", b}});
  std::vector<std::string> names;
  for (const EnvironmentDifference& each : overview.differences) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"processor", "compiler flags", "library of onednn"}));
  ASSERT_EQ(overview.cells.size(), 2U);
  for (const Joined& joined : overview.cells) {
    const bool of_onednn = joined.id.find("onednn") != std::string::npos;
    const std::vector<std::string> expected =
        of_onednn ? std::vector<std::string>{"compiler flags", "library of onednn"}
                  : std::vector<std::string>{"compiler flags"};
    EXPECT_EQ(joined.differs, expected) << joined.id;
  }
}

}  // namespace
}  // namespace headroom::across::overview_test
