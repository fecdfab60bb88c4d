// How the commands end where nothing was computed, and with numbers that are none.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/cli.hpp"

namespace headroom::test::exit_codes_test {
namespace {

class CliExitCodes : public Cli {};

const std::string kTiny =
    " --heads 2 --head-dim 4 --tokens 3 --repetitions 3 --min-time 0.001 --processes 1";

// The backend of headroom-broken declines 13 heads.
TEST_F(CliExitCodes, WhereNoCellIsSupportedNothingIsDone) {
  for (const std::string command : {"sweep --out results", "verify"}) {
    expect("$broken " + command + " --backend naive --heads 13 --head-dim 2 --tokens 2", 5,
           {"nothing was computed: of 3 cells, 3 unsupported and 0 skipped, such as ", "13 heads"});
  }
  EXPECT_EQ(results().size(), 3U) << "they are recorded all the same";
}

TEST_F(CliExitCodes, WhereNoCellFitsAResourceIsMissing) {
  expect("$headroom sweep --backend naive --max-memory 1KiB --out results" + kTiny, 4,
         {"nothing was computed: of 3 cells, 0 unsupported and 3 skipped, such as ",
          "only 1.0 KiB may be used"});
  expect("$headroom sweep --backend naive --budget 0.000001s --out late" + kTiny, 4,
         {"nothing was computed", "the whole budget is"});
}

TEST_F(CliExitCodes, WhatHasNothingToComputeIsDone) {
  for (const std::string size : {"--tokens 0", "--batch 0", "--lengths 0,0"}) {
    expect("$headroom verify --backend naive --heads 2 --head-dim 4 " + size, 0, {"0 failed"});
    expect("rm -rf results; $headroom sweep --backend naive --heads 2 --head-dim 4 --out results " +
               size,
           0, {"3 skipped"});
  }
  expect("$broken sweep --backend naive --heads 13 --head-dim 2 --tokens 2 --dry-run", 0, {});
}

TEST_F(CliExitCodes, ACompleteFolderIsDoneOnceMore) {
  const std::string sweep = "$headroom sweep --backend naive --out results" + kTiny;
  expect(sweep, 0, {"3 ok"});
  expect(sweep + " --resume", 0, {"3 cells are already done"});
}

// What a shard lacks another one may have.
TEST_F(CliExitCodes, AShardWithoutAnyTimeIsDone) {
  expect(
      "$broken sweep --backend naive --heads 13 --head-dim 2 --tokens 2 --shard 1/2 --out results",
      0, {"unsupported"});
}

// Compared with a limit, NaN is neither too small nor too large.
TEST_F(CliExitCodes, NumbersThatAreNoneAreWrongUsageOfEveryCommand) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> options{
      {"tune", {"--min-time", "--threads"}},
      {"sweep --out results",
       {"--min-time", "--budget", "--timeout", "--max-memory", "--dropout", "--repetitions",
        "--seed"}},
      {"verify", {"--dropout", "--seed"}},
      {"pick --heads 1 --tokens 1", {"--budget", "--max-error", "--max-packed-bytes"}},
      {"run --weights w", {"--max-memory", "--repetitions", "--seed"}},
      {"compare a b", {"--threshold"}}};
  for (const auto& [command, names] : options) {
    for (const std::string& name : names) {
      for (const std::string number : {"nan", "-nan", "inf", "-inf", "1e999", "nan%"}) {
        // The sign of equality, for a leading minus.
        expect("$headroom " + command + " " + name + "=" + number, 2, {name});
      }
    }
  }
  expect("$headroom tune --min-time=-1", 2, {"--min-time"});
  expect("$headroom sweep --min-time 9999999999", 2, {"--min-time", "the limit is 1000000000"});
}

}  // namespace
}  // namespace headroom::test::exit_codes_test
