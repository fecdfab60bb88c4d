// headroom explain, run as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/cli.hpp"

namespace headroom::explain_test {
namespace {

using test::Outcome;

class CliExplain : public test::Cli {};

TEST_F(CliExplain, WithoutAnExampleListsTheLadder) {
  const Outcome list = run("$headroom explain");
  ASSERT_EQ(list.code, 0) << list.errors;
  std::string names;
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) {
    names += line.substr(0, line.find(' ')) + " ";
    EXPECT_GT(line.size(), 30U);
  }
  EXPECT_EQ(names,
            "simplified self-attention causal dropout batch wrapper dream split heads-by-hand "
            "cat-sleeps kid-smiles six-bias qwen3 gemma2 gpt-oss "
            "deepseek ");
}

TEST_F(CliExplain, PrintsTheWellKnownRows) {
  expect("$headroom explain wrapper", 0,
         {"\nYour -0.4519 0.2216 0.4772 0.1063\n", "\njourney -0.5874 0.0058 0.5891 0.3257\n",
          "(B, T, d_in) = (2, 6, 3)", "(B, T, d_out) = (2, 6, 4)"});
  expect("$headroom explain split", 0,
         {"\nYour 0.3190 0.4858\n", "\nstep 0.2575 0.4028\n", "(B, H, T, T) = (2, 2, 6, 6)", "-inf",
          "products with 96 heads"});
}

TEST_F(CliExplain, WalksLayersOfModels) {
  expect("$headroom explain qwen3", 0,
         {"Norm of each query and key head", "Turn query and key", "H_kv", "agrees"});
  expect("$headroom explain gemma2 --seed 5", 0,
         {"capped scores", "scores within the window", "seed 5", "agrees"});
  expect("$headroom explain gpt-oss --json", 0, {"share of the sink", "divisors", "b_query"});
  expect("$headroom explain deepseek", 0,
         {"own key  (B, H, T, own_dim) = (1, 2, 6, 3)", "(q W_key^T) latent^T", "71.1", "agrees"});
  write("own.txt", "the 1 2 3 4\ncat 4 3 2 1\nsleeps 1 1 1 1\n");
  expect("$headroom explain deepseek --input own.txt", 0, {"(d_in, rank + shared) = (4, 6)"});
  expect("$headroom explain gpt-oss --input own.txt", 0, {"sleeps", "(B, T, d_in) = (1, 3, 4)"});
  expect("$headroom explain qwen3 --heads 4", 2, {"--heads", "'qwen3'"});
}

TEST_F(CliExplain, ShellsCompleteExamples) {
  expect("$headroom complete explain g", 0, {"gemma2\ta layer of Gemma 2\n", "gpt-oss\t"});
  expect("$headroom complete explain d", 0, {"deepseek\ta layer of DeepSeek\n", "dream\t"});
  EXPECT_EQ(run("$headroom complete explain split ''").output, "");
}

TEST_F(CliExplain, JsonHasEveryNumber) {
  const Outcome split = run("$headroom explain split --json");
  ASSERT_EQ(split.code, 0) << split.errors;
  const auto lesson = nlohmann::json::parse(split.output);
  EXPECT_EQ(lesson.at("schema"), "headroom.lesson/1");
  EXPECT_EQ(lesson.at("products").at("wrapper"), 6);
  const auto list = nlohmann::json::parse(run("$headroom explain --json").output);
  EXPECT_EQ(list.at("examples").size(), 16U);
}

TEST_F(CliExplain, WalksAUsersOwnNumbers) {
  write("own.txt", "the 1 2 3 4\ncat 4 3 2 1\nsleeps 1 1 1 1\n");
  expect("$headroom explain --input own.txt", 0, {"split: ", "sleeps", "(1, 2, 3, 3)"});
  expect("$headroom explain wrapper --input own.txt --heads 4 --seed 7", 0,
         {"heads: 4", "seed 7", "(B, H, T, T) = (1, 4, 3, 3)"});
}

// What the last rows say is what --input reads.
TEST_F(CliExplain, WalksTrainedWeights) {
  const std::string models = std::string(HEADROOM_TEST_DATA) + "/weights/";
  expect(
      "$headroom explain --weights " + models + "gpt2 --layer 1 --input " + models + "gpt2/x.npy",
      0, {"heads: 3", "h.1.attn", "(B, H, T, head_dim)"});
  expect("$headroom explain --weights " + models + "llama", 0,
         {"6 random tokens, seed 1", "kv_width", "H_kv"});
  expect(
      "$headroom explain --weights " + models + "../models/deepseek_v3/model.safetensors --layer 1",
      0, {"share a latent of 16", "divisors", "weights (latent W_value)"});
  expect("$headroom explain --weights " + models + "bert", 2, {"--heads"});
  expect("$headroom explain --weights " + models + "bert --heads 4", 0, {"heads: 4"});
  expect("$headroom explain split --layer 1", 2, {"--layer", "add --weights FILE"});
  expect("$headroom explain wrapper --weights " + models + "gpt2", 2, {"takes none"});
}

TEST_F(CliExplain, ResultsCanBeInputs) {
  expect("$headroom explain causal | tail -n 6 >own.txt && $headroom explain --input own.txt", 0,
         {"journey", "(B, T, d_in) = (1, 6, 2)"});
}

TEST_F(CliExplain, WrongUsage) {
  expect("$headroom explain splti", 2, {"unknown example 'splti'", "did you mean 'split'?"});
  expect("$headroom explain split --heads 3", 2, {"--heads: 3 does not divide the width 2"});
  expect("$headroom explain split --heads 0", 2, {"--heads"});
  expect("$headroom explain split --heads 9223372036854775807", 2, {"nearest: 2"});
  expect("$headroom explain split --seed 4294967296", 2, {"--seed"});
  expect("$headroom explain causal --heads 2", 2, {"--heads", "'causal'", "wrapper, dream, split"});
  expect("$headroom explain --heads 2", 2, {"name an example"});
}

TEST_F(CliExplain, BadFiles) {
  expect("$headroom explain --input none.txt", 3, {"none.txt"});
  expect("$headroom explain --input .", 3, {"headroom: error: "});
  expect("mkfifo pipe; $headroom explain --input pipe", 3, {"pipe"});
  write("bad.txt", "the 1 2\ncat 1 two\n");
  expect("$headroom explain --input bad.txt", 3, {"bad.txt: line 2", "'two'"});
}

TEST_F(CliExplain, APageThatCannotBeWrittenIsAnErrorBeforeAnythingIsMeasured) {
  const Outcome page = run("$headroom explain split --page none/split.html");
  EXPECT_EQ(page.code, 4) << page.errors;
  EXPECT_EQ(page.errors.find("measuring"), std::string::npos) << page.errors;
}

// A backend that is wrong on purpose.
TEST_F(CliExplain, ABackendThatDiffersFailsTheLesson) {
  expect("$broken explain split", 1, {"differs: "});
}

}  // namespace
}  // namespace headroom::explain_test
