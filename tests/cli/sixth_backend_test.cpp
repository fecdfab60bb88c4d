// Every command finds a backend that src does not know.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/cli.hpp"

namespace headroom::test::sixth_backend_test {
namespace {

using nlohmann::json;

class CliSixthBackend : public Cli {
 protected:
  Outcome run_sixth(const std::string& arguments) const {
    return run("'" HEADROOM_SIXTH_PROGRAM "' " + arguments);
  }
  void expect_sixth(const std::string& arguments, int code,
                    const std::vector<std::string>& parts) const {
    expect("'" HEADROOM_SIXTH_PROGRAM "' " + arguments, code, parts);
  }
  // The memory that `sweep --dry-run` names for a cell.
  static std::string memory_of(const std::string& output, const std::string& cell) {
    const std::size_t line = output.find(cell);
    if (line == std::string::npos) return "no such cell";
    std::istringstream words(output.substr(line));
    std::string id, number, unit;
    words >> id >> number >> unit;
    return number + " " + unit;
  }
};

constexpr const char* kTiny = " --heads 2 --head-dim 8 --tokens 9 --threads 1 ";
constexpr const char* kShort = " --repetitions 5 --min-time 0.001 ";

TEST_F(CliSixthBackend, IsListedBehindTheKnownOnes) {
  const Outcome outcome = run_sixth("info --json");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const json backends = json::parse(outcome.output)["backends"];
  ASSERT_EQ(backends.size(), 7u);
  EXPECT_EQ(backends[5]["name"], "sixth");
  EXPECT_EQ(backends[5]["library"], "sixth 6.0");
  EXPECT_TRUE(backends[5]["available"]);
  EXPECT_EQ(backends[6]["name"], "seventh");
  EXPECT_FALSE(backends[6]["available"]);
}

TEST_F(CliSixthBackend, OfAnotherInterfaceIsNotAvailable) {
  expect_sixth(std::string("sweep --backend seventh --dry-run") + kTiny, 5,
               {"'seventh'", "backend interface"});
  expect_sixth(std::string("sweep --backend sixt --dry-run") + kTiny, 2, {"'sixth'"});
}

TEST_F(CliSixthBackend, IsVerifiedAndItsRefusalsAreSkipped) {
  expect_sixth(std::string("verify --backend sixth --formulation split") + kTiny, 0,
               {"split/sixth/f32/t1/", "1 passed, 0 failed, 0 skipped"});
  expect_sixth("verify --backend sixth --formulation split --heads 6 --head-dim 8 --tokens 9", 5,
               {"declined on purpose", "0 passed, 0 failed, 1 skipped"});
}

TEST_F(CliSixthBackend, IsEstimatedByItsOwnFacts) {
  const Outcome outcome = run_sixth(
      "sweep --backend naive,sixth --formulation split --dry-run --heads 2 --head-dim 8 --tokens "
      "64");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_NE(memory_of(outcome.output, "split/naive/").find("KiB"), std::string::npos);
  EXPECT_EQ(memory_of(outcome.output, "split/sixth/"), "64.1 MiB") << outcome.output;
}

TEST_F(CliSixthBackend, IsMeasuredComparedExportedReportedAndPicked) {
  const std::string sweep =
      std::string("sweep --backend naive,sixth --formulation split") + kTiny + kShort + "--out ";
  expect_sixth(sweep + "results", 0, {"sixth    split", "2 ok"});
  expect_sixth(sweep + "again", 0, {"2 ok"});
  expect_sixth("compare results again", 0, {"split/sixth/f32/t1/"});
  expect_sixth("export results --to csv", 0, {"sixth"});
  expect_sixth("report results", 0, {"index.html"});
  EXPECT_NE(read_all(path_ / "results/report.md").find("sixth"), std::string::npos);
  expect_sixth("pick --from results", 0, {"sixth", "libsixth-dev"});
  expect_sixth("pick --from results --backend sixth --emit cmake", 0, {"headroom::sixth"});
  expect_sixth("pick --from results --backend sixth --emit json", 0, {"\"sixth\""});
}

TEST_F(CliSixthBackend, IsWhatAutoTakesWhereItsRankSaysSo) {
  expect_sixth(std::string("sweep --backend auto") + kTiny + kShort + "--out results", 0, {"1 ok"});
  EXPECT_EQ(results().at(0)["choice"]["backend"], "sixth");
}

}  // namespace
}  // namespace headroom::test::sixth_backend_test
