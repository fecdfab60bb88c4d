// Parts of a sweep, measured separately and merged.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/cli.hpp"

namespace headroom::test::shard_test {
namespace {

using nlohmann::json;

constexpr const char* kSweep =
    "'" HEADROOM_FAULTY_PROGRAM
    "' sweep --backend naive --heads 2 --head-dim 4 --tokens 1-7+1 --repetitions 3 --min-time "
    "0.0001 --out ";

class CliShard : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    for (const char* part : {"1", "2", "3"}) {
      expect(std::string(kSweep) + "part" + part + " --shard " + part + "/3", 0, {});
    }
  }
  std::set<std::string> ids(const std::string& folder) const {
    std::set<std::string> all;
    for (const json& line : results(folder)) EXPECT_TRUE(all.insert(line["id"]).second);
    return all;
  }
};

TEST_F(CliShard, ThreeOfThreeAreTheWhole) {
  expect(std::string(kSweep) + "whole", 0, {});
  expect("$headroom merge part1 part2 part3 --out merged", 0, {"21 cells from 3 folders"});
  EXPECT_EQ(ids("merged"), ids("whole"));
  EXPECT_EQ(ids("merged").size(), 21u);
  // A merged sweep is like any other.
  expect(std::string(kSweep) + "merged --resume", 0, {"0 to go"});
}

TEST_F(CliShard, AMissingPartIsSaidAndCanBeMeasured) {
  expect("$headroom merge part1 part3 --out merged", 0, {"6 of 21 cells are missing"});
  expect(std::string(kSweep) + "merged --resume", 0, {"15 cells are already done; 6 to go"});
  EXPECT_EQ(ids("merged").size(), 21u);
}

TEST_F(CliShard, AMergeKeepsTheNodeOfEachPart) {
  expect("SLURMD_NODENAME=node7 " + std::string(kSweep) + "there --shard 2/3", 0, {});
  expect("$headroom merge part1 there --out merged", 0, {});
  const json parts = json::parse(read_all(path_ / "merged" / "environment.json"))["merged_from"];
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]["conditions"]["node"], nullptr);
  EXPECT_EQ(parts[1]["conditions"]["node"], "node7");
}

TEST_F(CliShard, WhatIsNotOneSweepIsRefused) {
  expect("$headroom merge part1 part1 --out merged", 2, {"part1", "once"});
  expect(std::string(kSweep) + "other --seed 2 --shard 2/3", 0, {});
  expect("$headroom merge part1 other --out merged", 2, {"seed is 1 in part1 and 2 in other"});
  expect(std::string(kSweep) + "axes --formulation split --shard 2/3", 0, {});
  expect("$headroom merge part1 axes --out merged", 2, {"--formulation", "'split' in axes"});
  json environment = json::parse(read_all(path_ / "part2" / "environment.json"));
  environment["processor"]["name"] = "Abacus";
  write("part2/environment.json", environment.dump());
  expect("$headroom merge part1 part2 --out merged", 2, {"processor", "'Abacus' in part2"});
  EXPECT_FALSE(std::filesystem::exists(path_ / "merged"));
  expect("$headroom merge part1 nowhere --out merged", 3, {"nowhere"});
  expect("$headroom merge part1 part3 --out part1", 4, {"part1", "never overwritten"});
}

TEST_F(CliShard, APartThatDoesNotExistIsWrongUsage) {
  for (const char* shard : {"4/3", "0/3", "1", "1/0", "a/b", "1/2/3"}) {
    expect(std::string(kSweep) + "wrong --shard " + shard, 2, {"--shard"});
  }
}

}  // namespace
}  // namespace headroom::test::shard_test
