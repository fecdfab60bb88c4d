// headroom compare, run as a user runs it, on results that no machine measured.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/sample_results.hpp"

namespace headroom::compare_test {
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

TEST_F(CliCompare, WritesAPage) {
  expect("$headroom compare base slow --page changes.html", 0, {"1 regression\n"});
  const std::string page = test::read_all(path_ / "changes.html");
  for (const char* part : {"<h1 id=\"headline\">Of 2 cells, 0 are faster and 1 is slower.</h1>",
                           "aria-label=\"What changed\"", "<g class=\"slower\"><title>split/tbb",
                           "<g class=\"even\"><title>split/naive", "1.100", "1 regression"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  expect("$headroom compare base same --page changes.html", 0,
         {});  // a page of ours may be replaced
  expect("echo mine > mine.html; $headroom compare base same --page mine.html", 2,
         {"mine.html exists and was not written by headroom"});
  EXPECT_EQ(test::read_all(path_ / "mine.html"), "mine\n");
  write_folder("failed-only", {without_time(sample_result("tbb"), Status::failed, "wrong")});
  expect("$headroom compare base failed-only --page failed.html", 0, {});
  EXPECT_NE(test::read_all(path_ / "failed.html").find("Of 0 cells none is faster or slower."),
            std::string::npos);
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

TEST_F(CliCompare, BackendsThatNobodyWouldLinkDoNotGate) {
  write_folder("naive", {timed("naive", 1.16), timed("tbb", 1)});
  expect("$headroom compare base naive --fail-on-regression", 0,
         {"1 regression\n", "slower, does not gate", "--gate all counts them"});
  expect("$headroom compare base naive --fail-on-regression --gate all", 1, {"1 regression\n"});
  expect("$headroom compare base naive --gate some", 2, {"'some'", "linkable"});
  write_folder("alone", {timed("naive", 1)});
  expect("$headroom compare alone alone --fail-on-regression", 1,
         {"nothing was compared that gates"});
}

// Programs that write what a folder beside them has, in place of measuring.
class CliCompareAgain : public CliCompare {
 protected:
  void SetUp() override {
    CliCompare::SetUp();
    nlohmann::ordered_json environment = test::sample_environment();
    environment["sweep"]["identity"]["axes"] = {{"heads", "2"}, {"no-causal", true}};
    environment["sweep"]["repetitions_asked"] = 16;
    environment["sweep"]["processes"] = 8;
    environment["build"]["git_revision"] = "abc";
    for (const char* name : {"base", "slow", "same"}) {
      write(std::string(name) + "/environment.json", environment.dump());
    }
    program("as-base", "base");
    program("as-slow", "slow");
    program("as-same", "same");
  }

  void program(const std::string& name, const std::string& folder) const {
    write(name, "#!/bin/bash\necho \"" + name +
                    " $*\" >> calls\nfor word in \"$@\"; do [[ $word == --out=* ]] && "
                    "out=${word#--out=}; done\ncp -r " +
                    folder + " \"$out\"\n");
    std::filesystem::permissions(path_ / name, std::filesystem::perms::owner_all);
  }
};

TEST_F(CliCompareAgain, WhatIsNotSeenAgainPasses) {
  expect("$headroom compare base slow --fail-on-regression", 1, {"note: with --base-program"});
  expect(
      "$headroom compare base slow --fail-on-regression --base-program ./as-base "
      "--new-program ./as-same",
      0, {"note: 1 cell about to fail the gate", "slower, not seen again (1.00", "1 regression\n"});
  const std::string calls = test::read_all(path_ / "calls");
  const std::string words =
      " sweep --heads=2 --no-causal --seed=1 --repetitions=4 --processes=2 "
      "--only=split/tbb/f32/t1/B1_T4_D8_H2 --out=";
  std::istringstream lines(calls);
  std::string order;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_NE(line.find(words), std::string::npos) << line;
    order += line.substr(0, 7) == "as-base" ? 'b' : 'n';
  }
  EXPECT_EQ(order, "bnnbbnnb") << "in turns, and neither always first";
}

TEST_F(CliCompareAgain, WhatIsSeenAgainFails) {
  expect(
      "$headroom compare base slow --fail-on-regression --base-program ./as-base "
      "--new-program ./as-slow",
      1, {"slower, seen again (1.1"});
}

TEST_F(CliCompareAgain, WithoutARegressionNothingIsMeasuredAgain) {
  expect(
      "$headroom compare base same --fail-on-regression --base-program ./as-base "
      "--new-program ./as-same",
      0, {"0 regressions"});
  EXPECT_FALSE(std::filesystem::exists(path_ / "calls"));
}

TEST_F(CliCompareAgain, ProgramsThatAreNotThoseAreErrors) {
  const std::string compare = "$headroom compare base slow ";
  expect(compare + "--fail-on-regression --base-program ./as-base", 2, {"give both"});
  expect(compare + "--base-program ./as-base --new-program ./as-slow", 2,
         {"add --fail-on-regression"});
  expect(compare + "--fail-on-regression --base-program ./missing --new-program ./as-slow", 3,
         {"./missing: cannot be run: No such file"});
  EXPECT_NE(run(compare + "--fail-on-regression --base-program false --new-program ./as-slow").code,
            0);
  write("other/environment.json", [] {
    nlohmann::ordered_json environment = test::sample_environment();
    environment["build"]["git_revision"] = "def";
    return environment.dump();
  }());
  expect("cp slow/results.jsonl other/", 0, {});
  program("as-other", "other");
  expect(compare + "--fail-on-regression --base-program ./as-base --new-program ./as-other", 2,
         {"./as-other is of revision 'def', but slow was measured by 'abc'"});
  write("slow/environment.json", test::sample_environment().dump());
  expect(compare + "--fail-on-regression --base-program ./as-base --new-program ./as-slow", 2,
         {"slow: its environment.json does not say with which axes"});
}

TEST_F(CliCompare, SweepMeasuresOnlyTheCellsThatAreNamed) {
  const std::string sweep =
      "$headroom sweep --backend naive --heads 2 --head-dim 4 --tokens 3,4 --repetitions 2 "
      "--min-time 0.001 --out measured --only ";
  expect(sweep + "split/naive/f32/t1/B1_T4_D8_H2,fused/naive/f32/t1/B1_T3_D8_H2", 0, {"2 ok"});
  ASSERT_EQ(results("measured").size(), 2U);
  expect(sweep + "split/naive/f32/t1/B1_T5_D8_H2", 2,
         {"--only: the axes have no cell 'split/naive/f32/t1/B1_T5_D8_H2'; --dry-run lists"});
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
}  // namespace headroom::compare_test
