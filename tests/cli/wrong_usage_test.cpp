// What a user types wrongly, and what the program says: what was found, what is allowed, what to
// do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/cli.hpp"

namespace headroom::wrong_usage_test {
namespace {

using headroom::test::Cli;
using headroom::test::Outcome;

struct Wrong {
  const char* arguments;
  std::vector<std::string> said;
  int code = 2;
};

// Of the parser's own: each stands for a message that says what the parser thinks, not what to do.
constexpr const char* kRaw[] = {"TEXT",       "required", "The following argument",
                                "excludes",   "At Most",  "Expected exactly",
                                "subcommand", "override"};

const std::vector<Wrong> kWrong{
    {"swep", {"unknown command 'swep'", "did you mean 'sweep'"}},
    {"Sweep", {"unknown command 'Sweep'", "did you mean 'sweep'"}},
    {"measure", {"unknown command 'measure'", "Allowed: info"}},
    {"--quiet", {"no command is given", "headroom --help"}},
    {"--versoin", {"unknown option '--versoin'", "'--version'"}},
    {"sweep --hads 3", {"unknown option '--hads'", "'--heads'", "headroom sweep --help"}},
    {"sweep --Heads 3", {"unknown option '--Heads'", "'--heads'"}},
    {"sweep --quite", {"'--quite'", "'--quiet'"}},
    {"sweep --json", {"unknown option '--json'; see headroom sweep --help"}},
    {"info --measur", {"'--measur'", "'--measure'"}},
    {"info --json=maybe", {"--json takes no value"}},
    {"sweep everything", {"not expected: everything"}},
    {"sweep --backend xsmd", {"unknown backend 'xsmd'", "did you mean 'xsimd'"}},
    {"sweep --backend XSIMD", {"did you mean 'xsimd'"}},
    {"sweep --backend mkl", {"unknown backend 'mkl'", "Allowed: naive"}},
    {"sweep --backend xsimd tbb",
     {"separate the values of --backend by commas: --backend xsimd,tbb"}},
    {"sweep --backend 'xsimd tbb'", {"a blank where a comma must be", "xsimd,tbb"}},
    {"sweep --backend xsimd,,tbb", {"'xsimd,,tbb' contains an empty name"}},
    {"sweep --backend", {"--backend needs a value: --backend NAMES"}},
    {"verify --formulation fuse", {"'fuse'", "did you mean 'fused'"}},
    {"verify --formulation Split", {"did you mean 'split'"}},
    {"sweep --precision fp16", {"did you mean 'fp16x3'"}},
    {"sweep --precision FP32", {"did you mean 'f32'"}},
    {"sweep --precision int4", {"unknown precision 'int4'", "Allowed: "}},
    {"sweep --dtype float32", {"unknown dtype 'float32'", "Allowed: f32, bf16, all"}},
    {"sweep --isa AMX", {"'AMX' is not an instruction set", "--unit amx"}},
    {"sweep --isa avx-512", {"did you mean 'avx512'"}},
    {"sweep --unit AVX2", {"'AVX2' is not a unit", "--isa avx2"}},
    {"sweep --unit tiles", {"unknown unit 'tiles'", "Allowed: "}},
    {"sweep --model gpt5", {"unknown model 'gpt5'", "gpt3-175b"}},
    {"sweep --preset quik", {"did you mean 'quick'"}},
    {"sweep --op atention", {"did you mean 'attention'"}},
    {"sweep --heads 2 --rotary neighbors", {"did you mean 'neighbours'"}},
    {"sweep --heads", {"--heads needs a value: --heads LIST"}},
    {"sweep --heads=", {"--heads"}},
    {"sweep --heads 0", {"--heads: '0' contains 0", "smallest value is 1"}},
    {"sweep --heads -1", {"--heads", "whole number"}},
    {"sweep --heads 1e3", {"'1e3' is not understood"}},
    {"sweep --heads 1.5", {"'1.5' is not understood"}},
    {"sweep --heads twelve", {"'twelve' is not a positive whole number"}},
    {"sweep --heads 1,,2", {"'1,,2' contains an empty item"}},
    {"sweep --heads 8-1+1", {"runs from 8 down to 1", "smaller number first"}},
    {"sweep --heads 1-8*1", {"never ends"}},
    {"sweep --heads 2 4", {"separate the values of --heads by commas: --heads 2,4"}},
    {"sweep --heads 2 --heads 4", {"--heads is given 2 times; give it once"}},
    {"sweep --heads 7 --d-model 768", {"768", "6 and 8"}},
    {"sweep --d-model 8 --head-dim 4", {"--head-dim", "--d-model", "give one of them"}},
    {"verify --dropout 1", {"'1' is not a valid probability"}},
    {"verify --dropout half", {"'half' is not a number"}},
    {"sweep --seed abc", {"--seed: 'abc' is not a whole number; give one, such as 1"}},
    {"sweep --seed 1,2", {"--seed: '1,2' is not a whole number"}},
    {"sweep --repetitions many", {"--repetitions: 'many' is not a whole number"}},
    {"sweep --budget 10", {"--budget: '10' has no unit; give 10s, 10m or 10h"}},
    {"sweep --budget soon", {"--budget", "10m"}},
    {"sweep --timeout 5", {"--timeout: '5' has no unit"}},
    {"sweep --max-memory much", {"--max-memory", "16GiB"}},
    {"sweep --cache hot", {"unknown state 'hot'", "warm, cold"}},
    {"sweep --shard 9/8", {"--shard", "no part 9 of 8"}},
    {"compare", {"BASE is missing: results folder to compare with"}},
    {"compare before", {"NEW is missing: results folder to judge"}},
    {"report", {"DIR is missing: results folder"}},
    {"merge", {"DIR is missing"}},
    {"export folder", {"--to gbench|csv|bmf is missing"}},
    {"pick --emit yaml", {"'yaml'", "cmake"}},
    {"@missing.txt", {"missing.txt"}, 3},
    {"@nested.txt", {"nested.txt", "names another file of options"}},
};

TEST_F(Cli, EveryMistakeIsAnsweredInOurWords) {
  std::ofstream(path_ / "nested.txt") << "sweep\n@other.txt\n";
  EXPECT_GE(kWrong.size(), 60u);
  for (const Wrong& wrong : kWrong) {
    SCOPED_TRACE(wrong.arguments);
    const std::string command = std::string("$headroom ") + wrong.arguments;
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.code, wrong.code) << outcome.errors;
    for (const std::string& part : wrong.said) {
      EXPECT_NE(outcome.errors.find(part), std::string::npos) << part << "\n" << outcome.errors;
    }
    EXPECT_TRUE(outcome.output.empty()) << outcome.output;
    EXPECT_EQ(outcome.errors.find("headroom: error: "), 0u) << outcome.errors;
    for (const char* raw : kRaw) {
      EXPECT_EQ(outcome.errors.find(raw), std::string::npos) << outcome.errors;
    }
  }
}

TEST_F(Cli, TheProgramAloneAndEveryCommandHelpWithExamples) {
  for (const char* command :
       {"", " --help", " info --help", " sweep --help", " pick --help", " run --help"}) {
    const Outcome outcome = run(std::string("$headroom") + command);
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.output.find("Examples:\n  headroom "), std::string::npos) << outcome.output;
  }
  expect("$headroom sweep --help", 0,
         {"--heads LIST", "--cache warm|cold", "--out FOLDER", "--backend NAMES"});
}

TEST_F(Cli, OptionsMayComeFromAFile) {
  std::ofstream(path_ / "axes.txt")
      << "# two heads\n--heads 2\n--tokens=3\n\n--backend naive, autovec\r\n"
         "--out a folder\n--repetitions 2\n--min-time 0.001\n";
  expect("$headroom sweep @axes.txt --head-dim 4 --formulation split", 0,
         {"2 of 2 cells", "results in a folder"});
  // What follows the file has to be said once as well.
  expect("$headroom sweep @axes.txt --heads 4", 2, {"--heads is given 2 times"});
}

TEST_F(Cli, QuietLeavesOutProgressAndNotesButNoWarning) {
  const std::string sweep =
      " sweep --heads 2,2 --head-dim 4 --tokens 3 --repetitions 2 --min-time 0.001 --backend naive "
      "--formulation split --out ";
  const Outcome loud = run("$headroom" + sweep + "loud");
  const Outcome quiet = run("$headroom --quiet" + sweep + "quiet");
  const Outcome after = run("$headroom" + sweep + "after --quiet");
  EXPECT_NE(loud.errors.find("note: --heads 2,2"), std::string::npos) << loud.errors;
  EXPECT_NE(loud.errors.find("[1/1]"), std::string::npos) << loud.errors;
  for (const Outcome& outcome : {quiet, after}) {
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.errors.find("note:"), std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.errors.find("[1/1]"), std::string::npos) << outcome.errors;
    EXPECT_NE(outcome.output.find("1 of 1 cells"), std::string::npos) << outcome.output;
  }
  expect("$headroom --quiet swep", 2, {"headroom: error: "});
}

TEST_F(Cli, ColoursAreForTerminalsThatWantThem) {
  // `script` runs the program on a terminal of its own.
  const auto shown = [&](const std::string& before) {
    return run(before + " script -qec \"$headroom swep\" /dev/null </dev/null").output;
  };
  if (run("command -v script").code != 0) GTEST_SKIP() << "no `script`, which makes a terminal";
  EXPECT_NE(shown("env -u NO_COLOR TERM=xterm").find("\x1b[1;31merror:\x1b[0m"), std::string::npos);
  EXPECT_EQ(shown("NO_COLOR=1 TERM=xterm").find('\x1b'), std::string::npos);
  EXPECT_EQ(shown("env -u NO_COLOR TERM=dumb").find('\x1b'), std::string::npos);
  EXPECT_EQ(run("$headroom swep").errors.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace headroom::wrong_usage_test
