// Stores of made-up results: how versions are ordered, cells joined, and what is said of a step.
#include "trend/trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "store/runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/version_store.hpp"

namespace headroom::trend::trend_test {
namespace {

using record::CellResult;
using test::around;
using test::luck;
using test::sample_result;
using test::version_environment;
using test::version_name;
using test::with_time;

class TrendOf : public test::TemporaryFolder {
 protected:
  Trend trend(double threshold = 0.03) const {
    return trend_of(store::runs_in(path_ / "store"), threshold);
  }

  void write_version(int number, const std::vector<CellResult>& results,
                     const nlohmann::ordered_json& environment) const {
    test::write_sample_folder(path_ / "store" / "machine" / version_name(number), results,
                              environment);
  }

  static CellResult timed(const std::string& backend, double seconds) {
    return with_time(sample_result(backend), around(seconds));
  }

  static const Series& series_of(const MachineTrend& machine, const std::string& backend) {
    return *std::find_if(machine.series.begin(), machine.series.end(), [&](const Series& each) {
      return each.id.find("/" + backend + "/") != std::string::npos;
    });
  }
};

TEST_F(TrendOf, AStepStandsBetweenTwoVersions) {
  test::write_store(path_ / "store", "machine", 10, [](int i) {
    return std::vector{timed("tbb", luck(i) * (i < 6 ? 1e-3 : 1.1e-3)),
                       timed("xsimd", luck(i + 3) * 1e-3)};
  });
  const Trend found = trend();
  ASSERT_EQ(found.machines.size(), 1U);
  const MachineTrend& machine = found.machines.front();
  ASSERT_EQ(machine.versions.size(), 10U);
  EXPECT_TRUE(machine.by_commit);
  const Series& tbb = series_of(machine, "tbb");
  EXPECT_EQ(tbb.state(), State::stepped);
  ASSERT_EQ(tbb.steps.size(), 1U);
  EXPECT_EQ(machine.versions[tbb.steps[0].before].name, version_name(5));
  EXPECT_EQ(machine.versions[tbb.steps[0].after].name, version_name(6));
  EXPECT_NEAR(tbb.steps[0].ratio, 1.1, 0.005);
  EXPECT_TRUE(tbb.steps[0].changes.empty());
  EXPECT_EQ(series_of(machine, "xsimd").state(), State::level);
  EXPECT_EQ(machine.newest_step(), 6U);
  EXPECT_TRUE(found.slower_at_newest_step());
}

TEST_F(TrendOf, VersionsAreInTheOrderOfTheirCommitsIfAllKnowThem) {
  for (const int number : {0, 1, 2, 3}) {
    nlohmann::ordered_json environment = version_environment(number);
    environment["time"] = "2026-03-0" + std::to_string(9 - number) + "T12:00:00Z";
    write_version(number, {timed("tbb", 1e-3)}, environment);
  }
  Trend found = trend();
  EXPECT_TRUE(found.machines.front().by_commit);
  EXPECT_EQ(found.machines.front().versions.front().name, version_name(0));
  nlohmann::ordered_json environment = version_environment(4);
  environment["build"].erase("committed");
  environment["time"] = "2026-03-01T12:00:00Z";
  write_version(4, {timed("tbb", 1e-3)}, environment);
  found = trend();
  EXPECT_FALSE(found.machines.front().by_commit);
  EXPECT_EQ(found.machines.front().versions.front().name, version_name(4));
  EXPECT_EQ(found.machines.front().versions.back().name, version_name(0));
}

TEST_F(TrendOf, RunsOfOneVersionCountAsOne) {
  for (const int number : {0, 1, 2, 3}) {
    write_version(number, {timed("tbb", 1e-3)}, version_environment(number));
  }
  test::write_sample_folder(path_ / "store" / "machine" / "again", {timed("tbb", 1e-3)},
                            version_environment(2));
  const Trend found = trend();
  EXPECT_EQ(found.machines.front().versions.size(), 4U);
  EXPECT_EQ(found.machines.front().series.front().points.size(), 4U);
}

TEST_F(TrendOf, AMachineThatWasSlowerAsAWholeIsNoStep) {
  const auto store_of = [&](bool control) {
    test::write_store(path_ / "store", "machine", 10, [control](int i) {
      const double machine = i < 5 ? 1 : 1.2;
      CellResult result = timed("tbb", luck(i) * machine * 1e-3);
      if (control) {
        result.control = record::Control{"avx2", 1, std::vector<double>(9, 50 / machine)};
      }
      return std::vector{result};
    });
  };
  store_of(false);
  EXPECT_EQ(trend().machines.front().series.front().state(), State::stepped);
  store_of(true);
  const Series series = trend().machines.front().series.front();
  EXPECT_TRUE(series.by_control);
  EXPECT_EQ(series.state(), State::level);
  EXPECT_NEAR(series.points.front().seconds, 1.1e-3, 0.11e-3) << "at the median rate";
}

TEST_F(TrendOf, VersionsMayLackCells) {
  test::write_store(path_ / "store", "machine", 10, [](int i) {
    std::vector<CellResult> results{timed("xsimd", luck(i) * 1e-3)};
    if (i % 3 != 1) results.push_back(timed("tbb", luck(i) * (i < 5 ? 1e-3 : 1.1e-3)));
    if (i == 4) {
      results.push_back(
          test::without_time(sample_result("naive"), record::Status::failed, "wrong result"));
    }
    return results;
  });
  const MachineTrend machine = trend().machines.front();
  const Series& tbb = series_of(machine, "tbb");
  EXPECT_EQ(tbb.points.size(), 7U);
  ASSERT_EQ(tbb.steps.size(), 1U);
  EXPECT_EQ(machine.versions[tbb.steps[0].before].name, version_name(3)) << "4 has none";
  EXPECT_EQ(machine.versions[tbb.steps[0].after].name, version_name(5));
  ASSERT_EQ(machine.series.size(), 3U);
  EXPECT_EQ(series_of(machine, "naive").state(), State::untimed) << "what was wrong has no time";
}

TEST_F(TrendOf, WhatElseChangedIsSaid) {
  for (int i = 0; i < 8; ++i) {
    nlohmann::ordered_json environment = version_environment(i);
    if (i >= 4) {
      environment["build"]["compiler"] = "GNU 13";
      environment["backends"] = {{{"name", "tbb"}, {"library", "oneTBB 2"}}};
    }
    CellResult tbb = timed("tbb", luck(i) * (i < 4 ? 1e-3 : 1.1e-3));
    tbb.isa = i < 4 ? "avx2" : "avx512";
    write_version(i, {tbb, timed("xsimd", luck(i) * (i < 4 ? 1e-3 : 1.2e-3))}, environment);
  }
  const MachineTrend machine = trend().machines.front();
  const std::vector<std::string> compiler{"compiler 'GNU 12' before, 'GNU 13' after"};
  EXPECT_EQ(series_of(machine, "xsimd").steps.at(0).changes, compiler);
  const std::vector<std::string>& changes = series_of(machine, "tbb").steps.at(0).changes;
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[1], "library not recorded before, 'oneTBB 2' after");
  EXPECT_EQ(changes[2], "instruction set avx2 before, avx512 after");
}

TEST_F(TrendOf, MachinesAreApart) {
  for (const char* name : {"First", "Second"}) {
    test::write_store(path_ / "store", name, 8, [&](int i) {
      const bool slow = i >= 4 && std::string(name) == "Second";
      return std::vector{timed("tbb", luck(i) * (slow ? 1.1e-3 : 1e-3))};
    });
  }
  const Trend found = trend();
  ASSERT_EQ(found.machines.size(), 2U);
  EXPECT_EQ(found.machines[0].series.front().state(), State::level);
  EXPECT_EQ(found.machines[1].series.front().state(), State::stepped);
}

TEST_F(TrendOf, TheNoiseFloorIsTheMargin) {
  for (int i = 0; i < 8; ++i) {
    nlohmann::ordered_json environment = version_environment(i);
    environment["noise"]["floor"] = 0.2;
    write_version(i, {timed("tbb", luck(i) * (i < 4 ? 1e-3 : 1.1e-3))}, environment);
  }
  const Trend found = trend();
  EXPECT_DOUBLE_EQ(found.margin_of(found.machines.front()), 0.2);
  EXPECT_EQ(found.machines.front().series.front().state(), State::level);
}

TEST_F(TrendOf, OnlyTheNewestStepOfWhatSomebodyWouldLinkGates) {
  const auto gates = [&](const std::string& backend, int slow_from, int fast_from) {
    test::write_store(path_ / "store", "machine", 12, [&](int i) {
      const double factor = i >= fast_from ? 0.8 : i >= slow_from ? 1.1 : 1;
      return std::vector{timed(backend, luck(i) * factor * 1e-3)};
    });
    return trend().slower_at_newest_step();
  };
  EXPECT_TRUE(gates("tbb", 4, 100));
  EXPECT_FALSE(gates("tbb", 4, 8)) << "mended since";
  EXPECT_FALSE(gates("tbb", 11, 100)) << "the newest alone is a maybe";
  EXPECT_EQ(trend().machines.front().series.front().state(), State::maybe);
  EXPECT_FALSE(gates("naive", 4, 100));
}

TEST_F(TrendOf, AnOlderStepDoesNotGate) {
  test::write_store(path_ / "store", "machine", 12, [](int i) {
    return std::vector{timed("tbb", luck(i) * (i < 4 ? 1e-3 : 1.1e-3)),
                       timed("xsimd", luck(i + 3) * (i < 8 ? 1e-3 : 0.9e-3))};
  });
  EXPECT_EQ(trend().machines.front().newest_step(), 8U);
  EXPECT_FALSE(trend().slower_at_newest_step());
}

TEST_F(TrendOf, AStepOfWhatNobodyWouldLinkHidesNone) {
  test::write_store(path_ / "store", "machine", 12, [](int i) {
    return std::vector{timed("tbb", luck(i) * (i < 4 ? 1e-3 : 1.1e-3)),
                       timed("naive", luck(i + 3) * (i < 8 ? 1e-3 : 0.9e-3))};
  });
  EXPECT_EQ(trend().machines.front().newest_step(), 4U);
  EXPECT_TRUE(trend().slower_at_newest_step());
}

TEST_F(TrendOf, FewVersionsAreTooFew) {
  test::write_store(path_ / "store", "machine", 3,
                    [](int i) { return std::vector{timed("tbb", i < 2 ? 1e-3 : 2e-3 * luck(i))}; });
  EXPECT_NE(trend().machines.front().series.front().state(), State::stepped);
  test::write_store(path_ / "other", "machine", 2,
                    [](int) { return std::vector{timed("tbb", 1e-3)}; });
  EXPECT_EQ(trend_of(store::runs_in(path_ / "other"), 0.03).machines.front().series.front().state(),
            State::too_few);
}

TEST_F(TrendOf, AFolderThatIsNoneOfResultsIsNamed) {
  write_version(0, {timed("tbb", 1e-3)}, version_environment(0));
  write("store/machine/broken/environment.json", "{}");
  write("store/machine/broken/results.jsonl", "{}\n");
  EXPECT_THROW(trend(), FileError);
}

}  // namespace
}  // namespace headroom::trend::trend_test
