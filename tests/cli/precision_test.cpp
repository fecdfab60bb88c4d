// --precision and --dtype on the real program.
#include <string>

#include "support/cli.hpp"

namespace headroom::test::precision_test {
namespace {

class PrecisionCli : public Cli {
 protected:
  // Whether a backend of this machine has products of bf16.
  bool has_bf16() const {
    return run("$headroom sweep --backend onednn --precision bf16 --heads 2 --tokens 4 --dry-run")
               .code == 0;
  }
};

const std::string kSmall = " --heads 2 --head-dim 16 --tokens 24 --threads 1 --formulation split ";

TEST_F(PrecisionCli, TheOnlyOneThatIsAskedForAndNotThereIsNotAvailable) {
  for (const std::string command : {"sweep --out results", "verify", "pick"}) {
    expect("$headroom " + command + kSmall + "--backend naive --precision bf16", 5,
           {"naive has no bf16", "--precision"});
    expect("$headroom " + command + kSmall + "--backend naive --dtype bf16", 5, {"--dtype"});
  }
  expect("$headroom sweep" + kSmall + "--precision bf32", 2, {"unknown precision", "bf16"});
  expect("$headroom sweep" + kSmall + "--dtype f64", 2, {"unknown dtype", "f32"});
}

TEST_F(PrecisionCli, OneAmongOthersIsUnsupportedWithItsReason) {
  expect("$headroom sweep" + kSmall +
             "--backend naive --precision f32,bf16 --repetitions 2 --processes 1 --min-time 0.001",
         0, {"1 ok, 1 unsupported"});
  for (const auto& line : results("headroom-results")) {
    const bool f32 = line["precision"] == "f32";
    EXPECT_EQ(line["status"], f32 ? "ok" : "unsupported") << line;
    EXPECT_EQ(line["dtype"], "f32");
  }
  expect("$headroom verify" + kSmall + "--backend naive --precision f32,bf16", 0,
         {"1 passed, 0 failed, 1 skipped", "skipped split/naive/bf16/t1/"});
}

TEST_F(PrecisionCli, CellsOfBf16AreCheckedMeasuredAndResumed) {
  if (!has_bf16()) GTEST_SKIP() << "no backend of this machine has products of bf16";
  const std::string sweep = "$headroom sweep" + kSmall +
                            "--backend onednn --precision f32,bf16 --dtype f32,bf16 "
                            "--repetitions 2 --processes 1 --min-time 0.001 --out results";
  expect(sweep, 0, {"3 ok, 1 unsupported", "numbers", "bf16-bf16", "/ 1e-02"});
  for (const auto& line : results()) {
    if (line["status"] != "ok") continue;
    const bool f32 = line["precision"] == "f32" && line["dtype"] == "f32";
    EXPECT_EQ(line["error"]["limit"], f32 ? 5e-6 : 1e-2) << line;
    EXPECT_EQ(line["error"]["nrmse"].get<double>() > 1e-4, !f32) << line;
  }
  expect(sweep + " --resume", 0, {"4 cells are already done"});
  expect("$headroom compare results results", 0, {});
  expect("$headroom report results && grep -c Precision results/report.md", 0, {});
  expect("$headroom pick --from results --max-error 1e-2", 0, {"nrmse"});
  expect("$headroom pick --from results --max-error 1e-9", 2, {"--max-error"});
  expect("$headroom pick --from results --dtype bf16 --max-error 1e-2 --emit cmake", 0,
         {"HEADROOM_PICK_DTYPE=headroom::Dtype::bf16"});
  expect("$headroom export results --to bmf", 0, {"split/onednn/bf16-bf16/t1/"});
}

TEST_F(PrecisionCli, VerifyHoldsBf16ToItsOwnLimits) {
  if (!has_bf16()) GTEST_SKIP() << "no backend of this machine has products of bf16";
  expect(
      "$headroom verify --backend onednn --formulation split --threads 1 --precision bf16 "
      "--dtype all",
      0, {" 0 failed", "limit 1e-02", "adversarial"});
}

TEST_F(PrecisionCli, TheBenchProgramHasThemInItsNames) {
  if (!has_bf16()) GTEST_SKIP() << "no backend of this machine has products of bf16";
  expect(HEADROOM_BENCH_PROGRAM + kSmall +
             "--backend onednn --precision bf16 --dtype bf16 --benchmark_min_time=0.001",
         0, {"split/onednn/bf16-bf16/t1/B1_T24_D32_H2", "nrmse"});
}

// From the sweep over a pick's file to the choice of a layer. The emulator is slow, so its times
// are made short.
TEST_F(PrecisionCli, AutoTakesThePrecisionThatThePickFoundFastest) {
  const std::string sweep = "$headroom sweep" + kSmall +
                            "--precision auto --unit emulated --repetitions 2 --processes 1 "
                            "--min-time 0.001 ";
  expect(sweep + "--backend xsimd --out results", 0, {"3 ok", "fp16x3", "bf16x6"});
  expect("$headroom pick --from results --emit json --output tuning.json", 0, {});
  auto tuning = nlohmann::json::parse(read_all(path_ / "tuning.json"));
  for (auto& candidate : tuning["shapes"][0]["candidates"]) {
    if (candidate["precision"] == "bf16x6") candidate["time_s"]["median"] = 1e-9;
  }
  write("tuning.json", tuning.dump());
  const std::string tuned = "HEADROOM_TUNING=tuning.json " + sweep + "--backend auto --out chosen";
  expect(tuned, 0, {"auto: bf16x6"});
  const auto lines = results("chosen");
  ASSERT_EQ(lines.size(), 1U);
  const auto& line = lines.front();
  EXPECT_EQ(line["id"], "split/auto/auto/t1/B1_T24_D32_H2");
  EXPECT_EQ(line["precision"], "bf16x6");
  EXPECT_EQ(line["unit"], "emulated");
  EXPECT_EQ(line["choice"]["precision_asked"], "auto");
  EXPECT_NE(line["choice"]["precision_reason"].get<std::string>().find("fastest of f32, bf16x6"),
            std::string::npos)
      << line;
  expect(tuned + " --resume", 0, {"already done"});
  expect("$headroom export chosen --to csv", 0, {"auto/auto", "bf16x6"});
  expect("$headroom report chosen", 0, {});
  expect("$headroom sweep" + kSmall +
             "--precision auto --unit none --repetitions 2 --processes 1 --min-time 0.001 "
             "--backend auto --out rule",
         0, {"auto: f32"});
}

}  // namespace
}  // namespace headroom::test::precision_test
