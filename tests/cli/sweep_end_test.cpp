// What a sweep says at its end: what to link, and what changed since the last one beside it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/cli.hpp"

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
  EXPECT_NE(second.output.find(
                " (first): 0 of 2 cells faster, 0 slower, 2 not distinguishable or the same; "
                "headroom compare first second\n"),
            std::string::npos)
      << second.output;
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
