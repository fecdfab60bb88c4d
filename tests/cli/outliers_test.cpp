// --outliers on the real program, and what storing in few bits costs beside it.
#include <string>

#include "support/cli.hpp"

namespace headroom::test::outliers_test {
namespace {

using nlohmann::json;

const std::string kLayer =
    " --backend naive --formulation split --heads 2 --head-dim 32 --tokens 12 --threads 1 ";
const std::string kSweep = "$headroom sweep" + kLayer +
                           "--weights-dtype f32,q8 --outliers 1,300 --repetitions 2 --processes 1 "
                           "--min-time 0.001 ";

const std::string kRun = "$headroom run --config " HEADROOM_TEST_DATA
                         "/models/gpt_oss/config.json --backend naive --tokens 9 --outliers 300 ";

TEST_F(Cli, OutliersAreAnAxisOfEveryCommand) {
  expect("$headroom verify" + kLayer + "--outliers 1,300,10000 --weights-dtype f32,q8,q4", 0,
         {"B1_T12_D64_H2_outliers10000", "9 passed, 0 failed, 0 skipped"});
  expect("$headroom verify --backend naive --formulation split --outliers 300", 0,
         {"H12_outliers300", "norm has no weights", " 0 failed"});
  expect("$headroom verify --op attention --backend naive --outliers 300 --cache-dtype q8", 0,
         {"_qkv_outliers300", " 0 failed"});
  expect("$headroom pick" + kLayer + "--outliers 300 --max-error 1 --weights-dtype q8", 0,
         {"f32-wq8", "B1_T12_D64_H2_outliers300"});
  expect(kRun + "--weights-dtype q8 --check --json", 0, {"\"attention_shift\"", "\"outliers\""});
}

TEST_F(Cli, OutliersThatCannotBeAreRefusedWithTheReason) {
  expect("$headroom sweep --outliers 0", 2,
         {"--outliers: '0' contains 0; the smallest value is 1"});
  expect("$headroom verify --model deepseek-v3 --tokens 1 --outliers 300", 5,
         {"made of latents", "leave --outliers out"});
  expect("$headroom sweep --weights " HEADROOM_TEST_DATA
         "/weights/gpt2/model.safetensors --tokens 2 --outliers 300",
         2, {"--outliers: they are drawn with the weights"});
  expect(kRun + "--input " HEADROOM_TEST_DATA "/weights/gpt2/x.npy", 2,
         {"--outliers: they are of an x that is drawn"});
}

TEST_F(Cli, ResultsOfOutliersSayWhatStoringCostsAndMoves) {
  expect(kSweep + "--out first --shard 1/2", 0, {"2 ok"});
  expect(
      kSweep + "--out second --shard 2/2", 0,
      {"(error of storing ", " of its bound\n", "; attention weights: ", " of maxima moved, KL "});
  expect("$headroom merge first second --out results", 0, {});
  int shifted = 0;
  double plain = 0, outliers = 0;
  for (const json& line : results()) {
    const bool few_bits = line.contains("weights_dtype");
    EXPECT_EQ(line["status"], "ok") << line;
    EXPECT_EQ(line.contains("attention_shift"), few_bits) << line;
    EXPECT_EQ(line.contains("storage_nrmse"), few_bits) << line;
    const bool by_element = line["shape"].contains("outliers");
    EXPECT_EQ(line["error"].contains("bound_ratio"), by_element) << line;
    EXPECT_EQ(line["error"]["limit"], by_element ? 1 : 5e-6) << line;
    if (!few_bits) continue;
    ++shifted;
    (line["shape"].contains("outliers") ? outliers : plain) = line["storage_nrmse"];
    EXPECT_GT(line["attention_shift"]["kl_divergence"], 0);
  }
  EXPECT_EQ(results().size(), 4U);
  EXPECT_EQ(shifted, 2);
  EXPECT_GT(outliers, 4 * plain);
  expect(kSweep + "--out first --shard 1/2 --resume", 0, {"already done"});
  expect("$headroom sweep" + kLayer +
             "--weights-dtype f32,q8 --outliers 1,10000 --out results --resume",
         2, {"outliers"});
  expect("$headroom compare results results", 0, {});
  expect("$headroom report results && cat results/report.md results/results.csv", 0,
         {"outliers of 300", "f32-wq8", ",moved_rows,kl_divergence,", "Precision"});
}

}  // namespace
}  // namespace headroom::test::outliers_test
