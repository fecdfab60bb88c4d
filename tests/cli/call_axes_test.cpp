// The axes of a call on the command line: what is refused, and what is measured.
#include <nlohmann/json.hpp>

#include "support/cli.hpp"

namespace headroom::test::call_axes_test {
namespace {

using nlohmann::json;

TEST_F(Cli, AxesOfTheCallAreRefusedWithTheWayOut) {
  const struct {
    const char* options;
    const char* named;
  } table[] = {
      {"--heads 8 --kv-heads 3", "kv_heads 3 does not divide heads 8; nearest that do: 2 and 4"},
      {"--kv-heads 0", "--kv-heads"},
      {"--window 0", "--window: '0' contains 0; the smallest value is 1"},
      {"--softcap 0", "--softcap: '0' is not allowed; give a number above 0"},
      {"--scale=-1", "--scale: '-1' is not allowed; give a number above 0"},
      {"--heads 2 --qk-norm heads", "--qk-norm: unknown norm 'heads'; did you mean 'head'?"},
      {"--config nowhere.json --model gpt2", "leave out --model and --preset"},
      {"--past -1", "--past"},
      {"--lengths 4,-1", "--lengths"},
      {"--lengths 4 --tokens 4", "leave out --batch and --tokens"},
      {"--lengths 4 --batch 1", "leave out --batch and --tokens"},
      {"--heads 2 --rotary all", "--rotary: unknown pairs 'all'"},
      {"--rotary halves --heads 2 --head-dim 3", "head_dim is 3"},
      {"--past 9223372036854775807 --heads 1", "past"},
      {"--model llama3", "'llama3-8b'"},
  };
  for (const auto& row : table) {
    for (const char* command : {"sweep", "verify", "pick"}) {
      expect(std::string("$headroom ") + command + " " + row.options, 2, {row.named});
    }
  }
}

TEST_F(Cli, VerifyChecksWhatTheAxesOfTheCallName) {
  expect(
      "$headroom verify --heads 4 --head-dim 8 --tokens 3 --kv-heads 2 --window 5 --past 0,9 "
      "--rotary neighbours",
      0, {"K2_W5_ropen_P9", " 0 failed, 0 skipped"});
  expect("$headroom verify --heads 4 --head-dim 8 --lengths 3,0,9 --past 5", 0,
         {"P5_L3-0-9", " 0 failed, 0 skipped"});
  expect("$headroom verify --backend naive --lengths 0,0 --heads 2", 0,
         {"0 passed, 0 failed, 3 skipped"});
}

TEST_F(Cli, SweepRecordsThePastAndWhatIsReadOfIt) {
  const std::string sweep =
      "$headroom sweep --backend naive --formulation split --heads 4 --head-dim 8 --kv-heads 1 "
      "--tokens 2 --past 300 --repetitions 2 --min-time 0.001 --out results";
  expect(sweep, 0, {"1 ok"});
  ASSERT_EQ(results().size(), 1u);
  const json line = results().front();
  EXPECT_EQ(line["shape"]["past"], 300);
  EXPECT_EQ(line["shape"]["kv_heads"], 1);
  // Weights of 32 x (32 + 16 + 32) + 32 floats, and 300 keys and values of 8.
  EXPECT_EQ(line["bytes"], 4 * (32 * 80 + 32 + 300 * 16));
  EXPECT_GT(line["read_gbps"], 0);
  EXPECT_GE(line["key_value_cache"]["bytes"], 4 * 300 * 16);
  expect(sweep + " --resume", 0, {});
  EXPECT_EQ(results().size(), 1u) << "the shape was read back as it was written";
}

TEST_F(Cli, AttentionAloneIsCheckedAndMeasured) {
  for (const char* option :
       {"--dropout 0.1", "--d-in 8", "--formulation split", "--qkv-bias", "--no-out-proj",
        "--rotary halves", "--lengths 3,4", "--ranks 1", "--weights nowhere"}) {
    for (const char* command : {"sweep", "verify"}) {
      expect(std::string("$headroom ") + command + " --op attention " + option, 2,
             {"belongs to a layer"});
    }
  }
  expect("$headroom sweep --op attnetion", 2, {"unknown operation 'attnetion'", "'attention'"});
  expect("$headroom pick --op attention", 2, {"unknown option '--op'"});
  expect("$headroom verify --op attention --backend naive,autovec", 0,
         {"attention/naive/f32/t1/B1_T6_D2_H2_qkv", " 0 failed, 0 skipped"});
  expect(
      "$headroom sweep --op all --heads 4 --head-dim 8 --kv-heads 2 --tokens 3 --past 9 "
      "--backend naive,auto --formulation all --repetitions 1 --out one",
      2, {"--formulation"});
  expect(
      "$headroom sweep --op all --heads 4 --head-dim 8 --kv-heads 2 --tokens 3 --past 9 "
      "--backend naive,auto --repetitions 1 --out one",
      0, {"naive    attention", "B1_T3_D32_H4_qkv_K2_P9", "6 of 6 cells: 6 ok"});
  const std::vector<json> lines = results("one");
  ASSERT_EQ(lines.size(), 6u);
  int alone = 0;
  for (const json& line : lines) {
    if (line["shape"]["d_in"] != 0) continue;
    ++alone;
    EXPECT_EQ(line["formulation"], "attention");
    EXPECT_EQ(line["packed_bytes"], 0);
    EXPECT_GT(line["workspace_bytes"], 0);
    EXPECT_EQ(line["phases_s"]["qkv"], 0);
    EXPECT_GT(line["phases_s"]["attend"], 0);
    EXPECT_EQ(line["bytes"], 4 * 9 * 2 * 16);
    EXPECT_FALSE(line.contains("key_value_cache"));
    EXPECT_EQ(line["checked_rows"]["checked"], 3);
  }
  EXPECT_EQ(alone, 2);
  expect("$headroom report one", 0, {"one/index.html"});
  expect("$headroom pick --from one", 0, {"2 cells of attention alone were not judged"});
  expect("cat one/results.csv", 0, {"attention/naive/f32/t1/B1_T3_D32_H4_qkv_K2_P9"});
}

}  // namespace
}  // namespace headroom::test::call_axes_test
