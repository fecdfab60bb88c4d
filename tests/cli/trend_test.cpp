// headroom trend, run as a user runs it, on a store that no machine measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/hostile.hpp"
#include "support/version_store.hpp"

namespace headroom::trend_test {
namespace {

using record::CellResult;
using test::luck;
using test::sample_result;
using test::with_time;

class CliTrend : public test::Cli {
 protected:
  static CellResult timed(const std::string& backend, double seconds) {
    return with_time(sample_result(backend), test::around(seconds));
  }

  // tbb is slower from one version on.
  void write_store(const std::string& name, int slow_from, double factor = 1.1,
                   const std::string& machine = "machine") const {
    test::write_store(path_ / name, machine, 10, [&](int i) {
      return std::vector{timed("tbb", luck(i) * (i < slow_from ? 1e-3 : factor * 1e-3)),
                         timed("xsimd", luck(i + 3) * 1e-3)};
    });
  }
};

TEST_F(CliTrend, TellsSteps) {
  write_store("store", 6);
  expect("$headroom trend store", 0,
         {"10 versions in the order of their commits",
          "0.1.0-000000abc005 -> 0.1.0-000000abc006  1 cell  1.099  slower\n",
          "1.099   1.097 - 1.101", "split/tbb/f32/t1/B1_T4_D8_H2", "1 cell level",
          "split/xsimd/f32/t1/B1_T4_D8_H2", "2 cells on 1 machine: 1 changed, 0 maybe, 1 level",
          "1 % of the steps that are claimed are expected to be false"});
  expect("$headroom trend store --threshold 15%", 0, {"no steps", "2 cells level"});
  write_store("level", 100);
  expect("$headroom trend level", 0, {"no steps"});
  write_store("newest", 9);
  expect("$headroom trend newest", 0, {"maybe slower", "1 maybe", "measure it again"});
}

TEST_F(CliTrend, FailsOnAStepWhenAsked) {
  write_store("slower", 6);
  write_store("faster", 6, 0.9);
  write_store("level", 100);
  write_store("newest", 9);
  expect("$headroom trend slower", 0, {});
  expect("$headroom trend slower --fail-on-step", 1, {"slower"});
  expect("$headroom trend faster --fail-on-step", 0, {"faster"});
  expect("$headroom trend level --fail-on-step", 0, {});
  expect("$headroom trend newest --fail-on-step", 0, {"maybe"});
}

TEST_F(CliTrend, TakesFoldersAndStoresOfSeveralMachines) {
  write_store("first", 6, 1.1, "one");
  write_store("second", 100, 1.1, "two");
  expect("$headroom trend first second", 0, {"4 cells on 2 machines: 1 changed, 0 maybe, 3 level"});
  expect("$headroom trend first/one/*", 0, {"2 cells on 1 machine: 1 changed"});
}

TEST_F(CliTrend, PrintsJson) {
  write_store("store", 6);
  const test::Outcome outcome = run("$headroom trend store --json");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const nlohmann::json json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["schema"], "headroom.trend/1");
  EXPECT_EQ(json["slower_at_newest_step"], true);
  const nlohmann::json& machine = json["machines"].at(0);
  EXPECT_EQ(machine["ordered_by"], "commit");
  EXPECT_EQ(machine["versions"].size(), 10U);
  const nlohmann::json& cell = machine["cells"].at(0);
  EXPECT_EQ(cell["state"], "stepped");
  EXPECT_EQ(cell["level_s_by_version"].size(), 10U);
  EXPECT_EQ(cell["steps"].at(0)["after"], test::version_name(6));
  EXPECT_EQ(cell["steps"].at(0)["verdict"], "slower");
  EXPECT_NEAR(cell["steps"].at(0)["ratio"].get<double>(), 1.1, 0.01);
  EXPECT_TRUE(cell["maybe"].is_null());
}

TEST_F(CliTrend, WritesAPage) {
  write_store("store", 6);
  expect("$headroom trend store --page trend.html", 0, {});
  const std::string page = test::read_all(path_ / "trend.html");
  EXPECT_NE(page.find("<h1 id=\"headline\">2 cells on 1 machine: 1 changed"), std::string::npos);
  EXPECT_NE(page.find("<figure>"), std::string::npos);
  expect("$headroom trend store --page trend.html", 0, {});
  expect("echo mine > mine.html; $headroom trend store --page mine.html", 2,
         {"mine.html exists and was not written by headroom"});
}

// tbb fails from one version on, and xsimd crashes once; onednn is left out of one.
TEST_F(CliTrend, NamesWhatIsBroken) {
  test::write_store(path_ / "store", "machine", 10, [&](int i) {
    std::vector<CellResult> results{
        i < 7 ? timed("tbb", luck(i) * 1e-3)
              : test::without_time(sample_result("tbb"), record::Status::failed, "wrong <b>, 1e-3"),
        i != 4 ? timed("xsimd", luck(i + 3) * 1e-3)
               : test::without_time(sample_result("xsimd"), record::Status::crashed, "signal 11")};
    if (i != 5) results.push_back(timed("onednn", luck(i) * 1e-3));
    return results;
  });
  for (const char* options : {"", " --json", " --csv"}) {
    expect(std::string("$headroom trend store") + options, 0,
           {"warning: 1 cell was once verified and broken now"});
  }
  expect("$headroom trend store", 0,
         {"broken now, newest first\n", "machine-",
          "  1 cell  was fine until 0.1.0-000000abc006, failed since 0.1.0-000000abc007\n",
          "    split/tbb/f32/t1/B1_T4_D8_H2: wrong <b>, 1e-3\n",
          "  1 cell  mended; crashed in 0.1.0-000000abc004\n",
          "    split/xsimd/f32/t1/B1_T4_D8_H2: signal 11\n",
          "  1 cell  missing in 0.1.0-000000abc005\n    split/onednn/f32/t1/B1_T4_D8_H2\n",
          "3 level, 1 broken now\n"});
  expect("$headroom trend store --fail-on-step", 1, {"failed since"});
  expect("$headroom trend store --csv", 0,
         {"machine,version,committed,measured,id,status,reason,level_s,",
          ",0.1.0-000000abc007,2026-01-08T12:00:00Z,2026-02-08T12:00:00Z,"
          "split/tbb/f32/t1/B1_T4_D8_H2,failed,\"wrong <b>, 1e-3\",,,,,,,false,true\n",
          "split/onednn/f32/t1/B1_T4_D8_H2,missing,,"});
  const nlohmann::json json = nlohmann::json::parse(run("$headroom trend store --json").output);
  EXPECT_EQ(json["broken_now"], 1);
  const nlohmann::json& cells = json["machines"].at(0)["cells"];
  const nlohmann::json& cell = *std::find_if(cells.begin(), cells.end(), [](const auto& each) {
    return each["id"] == "split/tbb/f32/t1/B1_T4_D8_H2";
  });
  EXPECT_EQ(cell["broken"]["fine_until"], test::version_name(6));
  EXPECT_EQ(cell["broken"]["since"], test::version_name(7));
  EXPECT_EQ(cell["without_time"].size(), 3U);
  EXPECT_EQ(cell["without_time"].at(0)["reason"], "wrong <b>, 1e-3");
  expect("$headroom trend store --page trend.html", 0, {});
  const std::string page = test::read_all(path_ / "trend.html");
  for (const char* part : {"<strong>was fine until 0.1.0-000000abc006, failed since",
                           "wrong &lt;b&gt;, 1e-3", "mended; crashed in"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST_F(CliTrend, CsvHasStepsWhereTheyAre) {
  write_store("store", 6);
  const test::Outcome outcome = run("$headroom trend store --csv");
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1 + 2 * 10);
  const std::size_t step = outcome.output.find(",slower,1.0");
  ASSERT_NE(step, std::string::npos) << outcome.output;
  const std::size_t line = outcome.output.rfind('\n', step) + 1;
  EXPECT_NE(outcome.output.substr(line, step - line).find(test::version_name(6)),
            std::string::npos);
  EXPECT_EQ(outcome.output.find(",slower,", step + 1), std::string::npos);
  expect("$headroom trend store --csv --json", 2, {"--json"});
}

TEST_F(CliTrend, HostileTextsAreShownAsText) {
  for (int i = 0; i < 8; ++i) {
    nlohmann::ordered_json environment = test::version_environment(i, test::kHostile);
    if (i >= 4) environment["build"]["compiler"] = test::kHostile;
    CellResult failed = test::without_time(sample_result("xsimd"), record::Status::failed, "odd");
    failed.reason = test::kHostile;
    test::write_sample_folder(path_ / "store" / "m" / std::to_string(i),
                              {timed("tbb", luck(i) * (i < 4 ? 1e-3 : 1.1e-3)),
                               i < 6 ? timed("xsimd", luck(i) * 1e-3) : failed},
                              environment);
  }
  for (const std::string options : {"", "--json", "--csv"}) {
    const test::Outcome outcome = run("$headroom trend store --page trend.html " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(test::obeyed(outcome.output + outcome.errors), "");
  }
  EXPECT_EQ(test::rendered(test::read_all(path_ / "trend.html")), "");
}

TEST_F(CliTrend, WrongUsageAndBadFiles) {
  expect("$headroom trend", 2, {"STORE"});
  expect("$headroom trend missing", 3, {"missing does not exist"});
  expect("mkdir empty; $headroom trend empty", 3, {"holds no results"});
  write_store("store", 6);
  expect("$headroom trend store --threshold 3", 2, {"--threshold"});
}

}  // namespace
}  // namespace headroom::trend_test
