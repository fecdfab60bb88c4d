// What a sweep says at its end: what to link, and what changed since the last one beside it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "support/cli.hpp"

namespace headroom::sweep_end_test {
namespace {

namespace fs = std::filesystem;
using headroom::test::Cli;
using headroom::test::Outcome;
using headroom::test::read_all;

constexpr const char* kSweep =
    "$headroom sweep --heads 2 --head-dim 4 --tokens 3 --repetitions 2 --min-time 0.001 --threads "
    "1 "
    "--backend naive,autovec --formulation split --out ";

class CliSweepEnd : public Cli {
 protected:
  Outcome sweep(const std::string& out) const { return run(kSweep + out); }
};

TEST_F(CliSweepEnd, SaysWhatToLinkAndWhatChangedSinceTheLastOfTheSameAxes) {
  const Outcome first = sweep("first");
  EXPECT_EQ(first.code, 0) << first.errors;
  EXPECT_NE(first.output.find("\nwhat to link"), std::string::npos) << first.output;
  EXPECT_EQ(first.output.find("since "), std::string::npos) << first.output;
  expect(std::string(kSweep) + "other --no-causal", 0, {"what to link"});
  fs::create_directory(path_ / "strange");
  std::ofstream(path_ / "strange" / "environment.json") << "{";
  const Outcome second = sweep("second");
  EXPECT_EQ(second.code, 0) << second.errors;
  // How each cell went is the machine's affair, but each is counted, and once.
  std::smatch counts;
  ASSERT_TRUE(std::regex_search(
      second.output, counts,
      std::regex(R"( \(first\): (\d) of 2 cells faster, (\d) slower, (\d) not distinguishable or )"
                 "the same; headroom compare first second\n")))
      << second.output;
  EXPECT_EQ(std::stoi(counts[1]) + std::stoi(counts[2]) + std::stoi(counts[3]), 2);
}

// What a terminal says of split weights is what report.md and the page begin with.
TEST_F(CliSweepEnd, SaysWhatSplitWeightsGainAsTheReportDoes) {
  const Outcome outcome =
      run("$headroom sweep --heads 1,2 --d-model 8 --tokens 3 --repetitions 2 --min-time 0.001 "
          "--threads 1 --backend naive --formulation split,wrapper --out both && "
          "$headroom report both");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::string begin = "\n\nOne wide matrix in place of one small matrix per head: ";
  const std::size_t start = outcome.output.find(begin);
  ASSERT_NE(start, std::string::npos) << outcome.output;
  const std::size_t end = outcome.output.find("\n\n", start + 2);
  std::string said = outcome.output.substr(start + 2, end - start - 2);
  for (char& each : said) each = each == '\n' ? ' ' : each;
  const std::string text = read_all(path_ / "both" / "report.md");
  const std::size_t first = text.find("\n\n") + 2;
  std::string opening = text.substr(first, text.find("\n\n", first) - first);
  opening = std::regex_replace(opening, std::regex("`|\\*"), "");
  EXPECT_EQ(std::regex_replace(opening, std::regex("×"), "x"), said);
  EXPECT_NE(read_all(path_ / "both" / "index.html")
                .find("<p id=\"split-gains\" class=\"sentences\">One wide matrix in "),
            std::string::npos);
}

// As if other cores had been allowed: the same axes, and no cell in common.
TEST_F(CliSweepEnd, AFolderWithoutACellInCommonIsNoLastOne) {
  EXPECT_EQ(sweep("first").code, 0);
  EXPECT_EQ(run("sed -i 's#/t1/#/t7/#; s#\"threads\":1,#\"threads\":7,#' first/results.jsonl").code,
            0);
  ASSERT_NE(read_all(path_ / "first" / "results.jsonl").find("/t7/"), std::string::npos);
  const Outcome second = sweep("second");
  EXPECT_EQ(second.code, 0) << second.errors;
  EXPECT_EQ(second.output.find("since "), std::string::npos) << second.output;
}

}  // namespace
}  // namespace headroom::sweep_end_test
