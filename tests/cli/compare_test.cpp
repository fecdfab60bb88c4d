// headroom compare, run as a user runs it, on results that no machine measured.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/sample_results.hpp"

namespace headroom {
namespace {

using record::CellResult;
using record::Status;
using test::sample_result;
using test::with_time;
using test::without_time;

class CliCompare : public test::Cli {
 protected:
  void write_folder(const std::string& name, const std::vector<CellResult>& results) const {
    test::write_sample_folder(path_ / name, results);
  }

  static CellResult timed(const std::string& backend, double factor) {
    std::vector<double> samples;
    samples.reserve(9);
    for (int i = 0; i < 9; ++i) samples.push_back(factor * (1e-3 + 1e-6 * i));
    return with_time(sample_result(backend), samples);
  }

  void SetUp() override {
    test::Cli::SetUp();
    write_folder("base", {timed("naive", 1), timed("tbb", 1)});
    write_folder("same", {timed("naive", 1), timed("tbb", 1.001)});
    write_folder("slow", {timed("naive", 1), timed("tbb", 1.1)});
    write_folder("failed", {timed("naive", 1),
                            without_time(sample_result("tbb"), Status::failed, "wrong result")});
  }
};

TEST_F(CliCompare, TellsFoldersApart) {
  expect("$headroom compare base same", 0, {"2 same", "0 regressions"});
  expect("$headroom compare base slow", 0, {"1.100", "slower", "1 same", "1 regression\n"});
  expect("$headroom compare slow base", 0, {"0.909", "faster", "0 regressions"});
  expect("$headroom compare base failed", 0, {"REGRESSION: wrong result"});
}

TEST_F(CliCompare, FailsOnARegressionWhenAsked) {
  expect("$headroom compare base same --fail-on-regression", 0, {});
  expect("$headroom compare base slow --fail-on-regression", 1, {"1 regression\n"});
  expect("$headroom compare base failed --fail-on-regression", 1, {"1 regression\n"});
  expect("$headroom compare slow base --fail-on-regression", 0, {});
  expect("$headroom compare base slow --fail-on-regression --threshold 12%", 0, {"2 same"});
}

TEST_F(CliCompare, AGateThatComparedNothingDoesNotPass) {
  write_folder("skipped", {without_time(sample_result("naive"), Status::skipped, "budget"),
                           without_time(sample_result("tbb"), Status::skipped, "budget")});
  expect("$headroom compare base skipped --fail-on-regression", 1, {"nothing was compared"});
  expect("$headroom compare base skipped", 0, {"warning", "budget"});
}

TEST_F(CliCompare, ThresholdsArePercentages) {
  for (const char* wrong :
       {"3", "3 %", "-1%", "-0%", "101%", "nan%", "inf%", "1e1%", "%", "''", "3%%", "0x3%"}) {
    expect(std::string("$headroom compare base slow --threshold '") + wrong + "'", 2,
           {"--threshold", "0.5%"});
  }
  expect("$headroom compare base slow --threshold 0.5%", 0, {"beyond 0.5 %"});
  expect("$headroom compare base slow --threshold 0%", 0, {"slower"});
}

TEST_F(CliCompare, WrongUsageExitsWithTwo) {
  expect("$headroom compare base", 2, {"NEW"});
  expect("$headroom compare base slow --treshold 3%", 2, {"'--treshold'", "'--threshold'"});
  write_folder("other", {timed("xsimd", 1)});
  expect("$headroom compare base other", 2, {"no cell in common"});
}

TEST_F(CliCompare, BadFilesExitWithThree) {
  expect("$headroom compare base missing", 3, {"missing"});
  expect("$headroom compare base/results.jsonl slow", 3, {"not a folder"});
  expect("mkdir empty; $headroom compare empty slow", 3, {"empty", "environment.json"});
  expect("rm slow/results.jsonl; mkfifo slow/results.jsonl; $headroom compare base slow", 3,
         {"slow/results.jsonl", "FIFO"});
  write("same/results.jsonl", "{}\n" + test::lines_of({timed("naive", 1)}));
  expect("$headroom compare base same", 3, {"same/results.jsonl:1 (byte 0)", "schema"});
}

TEST_F(CliCompare, WarnsWhereItIsSeenAndKeepsTheOutputClean) {
  write("slow/environment.json", [] {
    nlohmann::ordered_json environment = test::sample_environment();
    environment["processor"]["name"] = "Another";
    return environment.dump();
  }());
  expect("printf '{\"sch' >> slow/results.jsonl; true", 0, {});
  const test::Outcome outcome = run("$headroom compare base slow --json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.errors.find("warning: different processor"), std::string::npos);
  EXPECT_NE(outcome.errors.find("note: slow/results.jsonl:3"), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["summary"]["slower"], 1);
  EXPECT_EQ(json["warnings"].size(), 1u);
}

TEST_F(CliCompare, ReadsWhatSweepWrote) {
  expect(
      "$headroom sweep --backend naive --heads 2 --head-dim 4 --tokens 3 --repetitions 5 "
      "--min-time 0.001 --out measured",
      0, {});
  expect("$headroom compare measured measured", 0, {"3 cells compared", "0 slower"});
}

}  // namespace
}  // namespace headroom
