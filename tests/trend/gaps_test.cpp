// Cells that are broken or missing in some versions.
#include "trend/gaps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/version_store.hpp"
#include "trend/trend.hpp"

namespace headroom::trend::gaps_test {
namespace {

using record::CellResult;
using record::Status;
using test::luck;
using test::sample_result;

// What a version says of the one cell: `.` fine, `f` failed, `c` crashed, `u` unsupported,
// `s` skipped, and `-` nothing.
class Gaps : public test::TemporaryFolder {
 protected:
  static CellResult cell_of(char what, int version, const std::string& backend) {
    CellResult result = sample_result(backend);
    switch (what) {
      case 'f':
        return test::without_time(result, Status::failed, "wrong");
      case 'c':
        return test::without_time(result, Status::crashed, "signal 11");
      case 'u':
        return test::without_time(result, Status::unsupported, "no window");
      case 's':
        return test::without_time(result, Status::skipped, "budget");
      default:
        return test::with_time(result, test::around(1e-3 * luck(version)));
    }
  }

  // Another cell is fine in all versions.
  MachineTrend of(const std::string& versions, const std::string& backend = "tbb",
                  Trend* whole = nullptr) const {
    const std::filesystem::path store = path_ / (versions + backend);
    test::write_store(store, "machine", static_cast<int>(versions.size()), [&](int i) {
      std::vector<CellResult> results{cell_of('.', i + 3, "xsimd")};
      const char what = versions[static_cast<std::size_t>(i)];
      if (what != '-') results.push_back(cell_of(what, i, backend));
      return results;
    });
    Trend trend = trend_of(store::runs_in(store), 0.03);
    if (whole != nullptr) *whole = trend;
    return trend.machines.front();
  }

  const Series* series_in(const MachineTrend& machine, const std::string& backend = "tbb") const {
    for (const Series& series : machine.series) {
      if (series.id.find("/" + backend + "/") != std::string::npos) return &series;
    }
    return nullptr;
  }

  // `fine_until,since` as numbers of versions; `-` where there is none.
  std::string breach_of(const std::string& versions) const {
    const MachineTrend machine = of(versions);
    const Series* series = series_in(machine);
    if (series == nullptr) return "no cell";
    const std::optional<Breach> breach = series->breach();
    if (!breach) return "-";
    return (breach->fine_until ? std::to_string(*breach->fine_until) : "-") + "," +
           std::to_string(breach->since);
  }
};

TEST_F(Gaps, ACellThatWasFineAndIsNot) {
  EXPECT_EQ(breach_of("......ff"), "5,6");
  EXPECT_EQ(breach_of(".....c.u"), "6,7");
  EXPECT_EQ(breach_of("..f."), "-") << "mended";
  EXPECT_EQ(breach_of("...."), "-");
  EXPECT_EQ(breach_of("ff..f"), "3,4");
  EXPECT_EQ(breach_of("fcf"), "-,0");
}

// What was skipped or is missing may have been left out on purpose, and mends nothing.
TEST_F(Gaps, WhatIsMissingNeitherBreaksNorMends) {
  EXPECT_EQ(breach_of("..s-"), "-");
  EXPECT_EQ(breach_of("..f-s"), "1,2");
  EXPECT_EQ(breach_of("..-f"), "1,3");
}

TEST_F(Gaps, EachVersionWithoutATimeIsNamedFromTheFirstThatHasTheCellOn) {
  const MachineTrend machine = of("--.f-s.u");
  const Series& series = *series_in(machine);
  ASSERT_EQ(series.points.size(), 2U);
  ASSERT_EQ(series.gaps.size(), 4U);
  EXPECT_EQ(series.gaps[0].version, 3U);
  EXPECT_EQ(series.gaps[0].status, Status::failed);
  EXPECT_EQ(series.gaps[0].reason, "wrong");
  EXPECT_EQ(series.gaps[1].version, 4U);
  EXPECT_FALSE(series.gaps[1].status);
  EXPECT_EQ(series.gaps[2].status, Status::skipped);
  EXPECT_EQ(series.gaps[3].status, Status::unsupported);
  EXPECT_TRUE(series_in(machine, "xsimd")->gaps.empty());
}

TEST_F(Gaps, WhatNeverHadATimeIsListedOnlyIfItBroke) {
  EXPECT_EQ(series_in(of("uuuu")), nullptr);
  EXPECT_EQ(series_in(of("s-s")), nullptr);
  const MachineTrend machine = of("ufuu");
  const Series* series = series_in(machine);
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(series->state(), State::untimed);
  EXPECT_FALSE(series->broke());
}

TEST_F(Gaps, OnlyWhatSomebodyWouldLinkGates) {
  Trend trend;
  of("....f", "tbb", &trend);
  EXPECT_EQ(trend.broke(), 1U);
  EXPECT_FALSE(trend.slower_at_newest_step());
  of("....f", "naive", &trend);
  EXPECT_EQ(trend.broke(), 0U);
  of("ffff", "tbb", &trend);
  EXPECT_EQ(trend.broke(), 0U);
}

// Whoever repeats a run until it passes has not mended anything.
TEST_F(Gaps, OfTwoRunsOfAVersionTheWorseCounts) {
  of("....");
  test::write_sample_folder(path_ / "....tbb" / "machine" / "again", {cell_of('f', 0, "tbb")},
                            test::version_environment(3, "machine"));
  const Trend trend = trend_of(store::runs_in(path_ / "....tbb"), 0.03);
  const Series& series = *series_in(trend.machines.front());
  EXPECT_EQ(series.points.size(), 4U);
  ASSERT_TRUE(series.breach());
  EXPECT_EQ(series.breach()->since, 3U);
  EXPECT_EQ(trend.broke(), 1U);
}

}  // namespace
}  // namespace headroom::trend::gaps_test
