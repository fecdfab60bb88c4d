// The real program, run as a user runs it: exit codes, messages, what stays on disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "machine/meters/clock.hpp"
#include "support/cli.hpp"

namespace headroom::program_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using headroom::test::Cli;
using headroom::test::Outcome;
using headroom::test::read_all;

// Cells of a few microseconds, so that a test of the machinery is quick.
constexpr const char* kTiny =
    " --heads 2 --head-dim 4 --tokens 3 --repetitions 3 --min-time 0.001 --out results";

TEST_F(Cli, WrongUsageExitsWithTwoAndSaysWhatIsAllowed) {
  expect("$headroom swep", 2, {"'swep'", "'sweep'"});
  expect("$headroom sweep --hads 3", 2, {"'--hads'", "'--heads'"});
  expect("$headroom info --measur", 2, {"'--measure'"});
  expect("$headroom sweep --backend xsmd", 2, {"'xsmd'", "'xsimd'", "naive"});
  expect("$headroom verify --formulation fuse", 2, {"'fuse'", "'fused'"});
  expect("$headroom sweep --model gpt5", 2, {"'gpt5'", "gpt3-175b"});
  expect("$headroom sweep --preset quik", 2, {"'quick'"});
  expect("$headroom sweep --d-model 8 --head-dim 4", 2, {"--head-dim"});
  expect("$headroom sweep --heads 7 --d-model 768", 2, {"768", "7", "6 and 8"});
  for (const char* number :
       {"0", "-1", "1e3", "8x", "9223372036854775808", "''", ",", "1-8*1", "1-8+0", "8-1+1"}) {
    expect(std::string("$headroom sweep --heads ") + number, 2, {"--heads"});
  }
  expect("$headroom sweep --heads=", 2, {"--heads"});
  for (const char* number : {"-0.1", "1", "nan"}) {
    expect(std::string("$headroom verify --dropout ") + number, 2, {"--dropout"});
  }
  expect("$headroom sweep --tokens 4611686018427387904", 2, {"too large"});
  expect("$headroom sweep --heads 1 --tokens 1-50000+1", 2, {"--yes"});
  expect("$headroom sweep --budget soon", 2, {"--budget", "10m"});
  expect("$headroom sweep --max-memory much", 2, {"--max-memory", "16GiB"});
}

TEST_F(Cli, AnEmptyVariableForcesNothing) {
  const std::string verify = "$headroom verify --backend autovec --heads 1 --tokens 1 --json";
  EXPECT_EQ(run("HEADROOM_ISA= " + verify).output, run("env -u HEADROOM_ISA " + verify).output);
}

TEST_F(Cli, WhatIsNotHereExitsWithFive) {
  expect("HEADROOM_ISA=avx215 $headroom info", 5, {"HEADROOM_ISA", "avx215"});
  expect("HEADROOM_ISA=avx215 $headroom sweep --tokens 1", 5, {"HEADROOM_ISA"});
#ifdef __x86_64__
  expect("$headroom verify --isa neon", 5, {"neon"});
#else
  expect("$headroom verify --isa avx2", 5, {"avx2"});
#endif
  expect("$broken sweep --backend tbb", 5, {"tbb", "headroom::tbb"});
}

TEST_F(Cli, InfoNamesEveryBackend) {
  expect("$headroom info", 0, {"naive", "autovec", "xsimd", "onednn", "tbb", "memory", "isa"});
  const Outcome outcome = run("$headroom info --json");
  const json info = json::parse(outcome.output);
  EXPECT_EQ(info["backends"].size(), 5u);
  EXPECT_GE(info["allowed_cores"], 1);
  EXPECT_FALSE(info["processor"]["name"].get<std::string>().empty());
}

TEST_F(Cli, InfoTellsTheClockTheCachesAndWhyAConditionIsNotKnown) {
  const Outcome text = run("$headroom info");
  const json info = json::parse(run("$headroom info --json").output);
  const json& now = info["conditions"];
  EXPECT_NE(text.output.find("\nclock  "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("last level of all cores "), std::string::npos) << text.output;
  EXPECT_EQ(text.output.find("unknown"), std::string::npos) << text.output;
  EXPECT_GE(info["processor"]["last_level_total_bytes"], 0);
  EXPECT_EQ(now["clock_ghz"].is_null(), !headroom::processor::cycle_chain());
  for (const char* name : {"governor", "turbo", "load", "huge_pages", "clock_ghz"}) {
    ASSERT_TRUE(now.contains(name)) << name;
    EXPECT_EQ(now[name].is_null(), now["unavailable"].contains(name)) << name;
  }
  for (const auto& [name, reason] : now["unavailable"].items()) {
    EXPECT_NE(text.output.find(reason.get<std::string>()), std::string::npos) << text.output;
  }
}

TEST_F(Cli, InfoMeasuresWhatTheMachineHoldsAndAtWhichClock) {
  const json info = json::parse(run("$headroom info --measure --json").output);
  const json& peaks = info["peaks"];
  if (peaks["fma_gflops_by_threads"].empty()) GTEST_SKIP() << "this build has no kernels";
  for (const auto& [threads, gflops] : peaks["fma_gflops_by_threads"].items()) {
    EXPECT_GT(gflops, 0);
    EXPECT_GT(peaks["sustained_fma_gflops_by_threads"][threads], 0);
    for (const char* clock : {"clock_ghz_by_threads", "sustained_clock_ghz_by_threads"}) {
      ASSERT_EQ(peaks[clock].contains(threads), headroom::processor::cycle_chain().has_value());
    }
  }
  if (headroom::processor::cycle_chain()) {
    expect("$headroom info --measure", 0, {"FMA peak (", " GFLOP/s at ", " GHz"});
  }
}

TEST_F(Cli, VerifyCountsWhatItChecked) {
  const Outcome outcome = run("$headroom verify --backend naive --preset quick --json");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const json all = json::parse(outcome.output);
  EXPECT_EQ(all["failed"], 0);
  EXPECT_GE(all["passed"], 40);
  EXPECT_EQ(all["checks"].size(), all["passed"].get<std::size_t>());
  EXPECT_GT(all["checks"][0]["error"]["nrmse"], 0);
  expect("$headroom verify --backend naive --heads 2 --tokens 0", 0,
         {"0 passed, 0 failed, 3 skipped", "nothing to compute"});
}

TEST_F(Cli, SweepWritesAFolderThatCanBeRead) {
  expect(std::string("$headroom sweep --formulation split") + kTiny, 0, {"results in results"});
  const json environment = json::parse(read_all(path_ / "results" / "environment.json"));
  for (const char* key : {"processor", "allowed_cores", "isa", "build", "peaks", "time"}) {
    EXPECT_TRUE(environment.contains(key)) << key;
  }
  for (const json& line : results()) {
    if (line["status"] == "unsupported") continue;  // a backend that this build does not have
    EXPECT_EQ(line["status"], "ok") << line;
    EXPECT_EQ(line["time_s"]["samples"].size(), 3u);
    EXPECT_GT(line["gflops"], 0);
    EXPECT_LE(line["error"]["nrmse"], line["error"]["limit"]);
  }
  EXPECT_EQ(results().size(), 5u);
}

TEST_F(Cli, SamplesComeFromSeveralProcessesAndSayWhich) {
  const std::string sweep =
      "$headroom sweep --backend naive,xsimd --formulation split --heads 2 "
      "--head-dim 4 --tokens 3 --min-time 0.001 --repetitions ";
  expect(sweep + "8 --processes 3", 0, {"results in headroom-results"});
  const auto processes_of = [&](const char* folder) {
    std::vector<std::vector<int>> all;
    for (const json& line : results(folder)) {
      if (line["status"] != "ok") continue;
      all.push_back(line["time_s"]["processes"].get<std::vector<int>>());
      if (!line.contains("again")) continue;
      EXPECT_EQ(line["again"]["processes"], line["time_s"]["processes"]);
      EXPECT_EQ(line["again"]["samples"].size(), line["time_s"]["samples"].size());
    }
    EXPECT_FALSE(all.empty());
    return all;
  };
  for (const auto& processes : processes_of("headroom-results")) {
    EXPECT_EQ(processes, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2}));
  }
  expect(sweep + "10 --out default", 0, {});
  for (const auto& processes : processes_of("default")) {
    EXPECT_EQ(processes, (std::vector<int>{0, 0, 1, 1, 2, 3, 4, 5, 6, 7}));
  }
  expect("$headroom sweep --processes 0", 2, {"--processes"});
  expect("$headroom sweep --processes 101", 2, {"--processes: 101 is too many"});
}

TEST_F(Cli, EverySampleHasTheClockThatItRanAt) {
  expect(std::string("$headroom sweep --backend naive") + kTiny, 0, {});
  for (const json& line : results()) {
    if (!line.contains("control")) GTEST_SKIP() << "this build has no control kernel";
    const json& control = line["control"];
    if (!headroom::processor::cycle_chain()) {
      EXPECT_FALSE(control.contains("clock_ghz"));
      continue;
    }
    ASSERT_TRUE(control.contains("clock_ghz")) << line;
    EXPECT_EQ(control["clock_ghz"].size(), line["time_s"]["samples"].size());
    for (const json& ghz : control["clock_ghz"]) EXPECT_GT(ghz, 0);
  }
}

TEST_F(Cli, EverySampleHasBothRoofsBesideIt) {
  const Outcome outcome = run(std::string("$headroom sweep --backend naive") + kTiny);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  for (const json& line : results()) {
    if (!line.contains("control")) GTEST_SKIP() << "this build has no control kernel";
    ASSERT_TRUE(line["control"].contains("tile_gflops")) << line;
    EXPECT_EQ(line["control"]["tile_gflops"].size(), line["time_s"]["samples"].size());
    EXPECT_GT(line["tile_fraction"], 0);
    EXPECT_LT(line["tile_fraction"], 1);
  }
  for (const char* part : {"of peak: share of the rate of multiply-adds in registers",
                           " % of register tiles from the L1\n", "; register tiles from the L1 "}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  }
}

TEST_F(Cli, ColdCachesAreLabelledEverywhere) {
  const std::string sweep =
      std::string("$headroom sweep --backend xsimd --formulation split") + kTiny;
  const Outcome outcome = run(sweep + " --cache cold");
  if (outcome.code == 5) GTEST_SKIP() << outcome.errors;
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(results().at(0)["cache"], "cold");
  const json environment = json::parse(read_all(path_ / "results" / "environment.json"));
  EXPECT_EQ(environment["sweep"]["cache"], "cold");
  expect(sweep + " --resume", 2, {"cache state is 'cold'", "'warm' in this run"});
  expect(sweep + " --cache hot", 2, {"--cache", "'hot'", "warm, cold"});
}

TEST_F(Cli, TheRecordSaysWhatTheRunWentThrough) {
  const std::string sweep = std::string("$headroom sweep --backend naive") + kTiny;
  expect("OMP_TEST_ONLY=7 " + sweep, 0, {});
  const auto environment = [this] {
    return json::parse(read_all(path_ / "results" / "environment.json"));
  };
  const json before = environment();
  EXPECT_TRUE(before.contains("ended"));
  EXPECT_TRUE(before["conditions"].contains("stolen_share"));
  EXPECT_TRUE(before["conditions"].contains("load_at_end"));
  EXPECT_EQ(before["conditions"]["variables"]["OMP_TEST_ONLY"], "7");
  expect(sweep + " --resume", 2, {"OMP_TEST_ONLY"});
  run("sed -i '$d' results/results.jsonl");
  expect("OMP_TEST_ONLY=7 " + sweep + " --resume", 0, {"1 to go"});
  const json after = environment();
  EXPECT_EQ(after["ended"], before["ended"]);
  ASSERT_EQ(after["resumed"].size(), 1u);
  EXPECT_TRUE(after["resumed"][0].contains("ended"));
  EXPECT_TRUE(after["resumed"][0]["conditions"].contains("stolen_share"));
}

TEST_F(Cli, SweepNeverOverwritesResults) {
  expect(std::string("$headroom sweep --backend naive") + kTiny, 0, {});
  const std::string before = read_all(path_ / "results" / "results.jsonl");
  expect(std::string("$headroom sweep --backend naive") + kTiny, 4, {"--out", "results"});
  EXPECT_EQ(read_all(path_ / "results" / "results.jsonl"), before);
}

TEST_F(Cli, AFolderThatCannotBeWrittenIsKnownBeforeMeasuring) {
  expect("touch results; $headroom sweep --backend naive" + std::string(kTiny), 4, {"results"});
}

TEST_F(Cli, DryRunMeasuresAndWritesNothing) {
  expect("$headroom sweep --dry-run --model gpt3-175b --tokens 16 --out results", 0,
         {"split/tbb/f32/", "B1_T16_D12288_H96", "GiB", "cells"});
  EXPECT_FALSE(fs::exists(path_ / "results"));
}

TEST_F(Cli, CellsBeyondTheirMeansAreSkippedWithTheEstimate) {
  expect("$headroom sweep --backend naive --max-memory 1MiB --heads 8 --tokens 8 --out memory", 4,
         {"skipped", "needs about", "MiB"});
  expect("$headroom sweep --backend naive --heads 96 --tokens 4096 --out time", 4,
         {"skipped", "would take about"});
  expect("$headroom sweep --backend naive --heads 8 --tokens 512 --budget 0.001s --out budget", 4,
         {"skipped", "budget"});
  expect("$headroom sweep --backend naive --heads 8 --tokens 0 --out nothing", 0,
         {"skipped", "nothing to compute"});
  for (const char* name : {"memory", "time", "budget", "nothing"}) {
    ASSERT_EQ(results(name).size(), 3u) << name;
    EXPECT_FALSE(results(name)[0].contains("time_s"));
    EXPECT_GT(results(name)[0]["estimate"]["bytes"], 0);
  }
}

TEST_F(Cli, MoreThreadsThanCoresAreRecordedInEveryCell) {
  if (run("$headroom verify --backend tbb --heads 1 --tokens 1").code == 5) {
    GTEST_SKIP() << "this build has no tbb, the backend with its own threads";
  }
  const unsigned many = std::thread::hardware_concurrency() + 1;
  expect("$headroom sweep --backend tbb --threads " + std::to_string(many) + kTiny, 0,
         {"warning", std::to_string(many)});
  for (const json& line : results()) {
    EXPECT_EQ(line["threads"], many);
    EXPECT_EQ(line["warnings"].size(), 1u);
  }
}

TEST_F(Cli, AWrongBackendIsFoundAndNeverTimed) {
  expect("$broken verify --backend naive", 1, {"failed", "0 passed"});
  expect(std::string("$broken sweep --backend naive") + kTiny, 1, {"failed: wrong result"});
  ASSERT_EQ(results().size(), 3u);
  for (const json& line : results()) {
    EXPECT_EQ(line["status"], "failed");
    EXPECT_FALSE(line.contains("time_s"));
    EXPECT_FALSE(line.contains("gflops"));
    EXPECT_FALSE(line["reason"].is_null());
  }
}

TEST_F(Cli, WhatABackendDeclinesIsUnsupportedAndNoFailure) {
  expect("$broken sweep --backend naive --heads 13 --head-dim 2 --tokens 2 --out results", 5,
         {"unsupported", "13 heads"});
  expect("$broken verify --backend naive --heads 13 --tokens 2", 5, {"3 skipped", "13 heads"});
}

TEST_F(Cli, BackendsThatAreNotLinkedAreListedUnderAll) {
  expect("$broken sweep --formulation split" + std::string(kTiny), 1, {"not linked"});
  EXPECT_EQ(results().size(), 5u);
}

TEST_F(Cli, AClosedOutputCostsNoResult) {
  expect("set -o pipefail; $headroom sweep --backend naive" + std::string(kTiny) + " | true", 0,
         {});
  EXPECT_EQ(results().size(), 3u);
  expect("$headroom sweep --backend naive" + std::string(kTiny) + "2 >&- 2>&-", 0, {});
  EXPECT_EQ(results("results2").size(), 3u);
  if (fs::exists("/dev/full")) expect("$headroom info > /dev/full", 4, {"No space left"});
}

class CliSignals : public Cli, public testing::WithParamInterface<int> {};

// The sweep has quick cells first; it is stopped as soon as one of them is on disk.
TEST_P(CliSignals, KeepWhatIsFinished) {
  const int number = GetParam();
  const std::string line =
      "$headroom sweep --backend naive --heads 2 --head-dim 8 --tokens 1-400+1 --repetitions 3 "
      "--min-time 0.01 --out results & pid=$!; "
      "for i in $(seq 600); do [ -s results/results.jsonl ] && break; sleep 0.05; done; "
      "kill -" +
      std::to_string(number) + " $pid; wait $pid";
  expect(line, 128 + number, {});
  const std::size_t finished = results().size();
  EXPECT_GE(finished, 1u);
  EXPECT_LT(finished, 1200u);
}

INSTANTIATE_TEST_SUITE_P(All, CliSignals, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(Cli, HeadroomBenchRunsTheSameCells) {
  expect("'" HEADROOM_BENCH_PROGRAM
         "' --backend naive --heads 2 --head-dim 4 --tokens 3 --benchmark_list_tests=true",
         0, {"split/naive/f32/t1/B1_T3_D8_H2"});
  expect("'" HEADROOM_BENCH_PROGRAM
         "' --backend naive --heads 2 --head-dim 4 --tokens 3 --benchmark_filter=split "
         "--benchmark_format=json",
         0, {"\"split/naive/f32/t1/B1_T3_D8_H2/real_time\"", "GFLOP/s", "nrmse"});
  expect("'" HEADROOM_BENCH_PROGRAM "' --heads 0", 2, {"--heads"});
}

// Debian's Google Benchmark warns about its own build, which a reader takes for ours.
TEST_F(Cli, HeadroomBenchNamesItsOwnBuildBesideTheWarningOfAnother) {
  const Outcome outcome =
      run("'" HEADROOM_BENCH_PROGRAM
          "' --backend naive --heads 2 --head-dim 4 --tokens 3 --benchmark_filter=split "
          "--benchmark_min_time=0.001");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::size_t warning = outcome.errors.find("***WARNING*** Library was built as DEBUG");
  const std::size_t ours = outcome.errors.find("\nheadroom: ");
  EXPECT_EQ(warning == std::string::npos, ours == std::string::npos) << outcome.errors;
  if (warning == std::string::npos) GTEST_SKIP() << "Google Benchmark was not built as DEBUG";
  EXPECT_LT(ours, warning) << outcome.errors;
  EXPECT_NE(outcome.errors.find("Google Benchmark's own library", ours), std::string::npos);
}

}  // namespace
}  // namespace headroom::program_test
