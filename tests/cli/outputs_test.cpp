// What commands write, where links, limits and files of others are in the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/sample_machines.hpp"

namespace headroom::test::outputs_test {
namespace {

namespace fs = std::filesystem;

const std::string kSweepInto =
    "'" HEADROOM_FAULTY_PROGRAM
    "' sweep --backend naive --formulation split --heads 2 --head-dim 4 --tokens 3 --repetitions 2 "
    "--processes 1 --min-time 0.0001 --out ";
const std::string kSweep = kSweepInto + "swept ";

class CliOutputs : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sample_folder(path_ / "results",
                        {with_time(sample_result("naive"), around(1e-3)),
                         with_time(sample_result("tbb"), around(2e-3))},
                        environment_of("alpha", "one"));
    write("precious", "of somebody else");
    fs::create_directory(path_ / "elsewhere");
    fs::create_directory(path_ / "bin");
    fs::create_symlink("/bin/false", path_ / "bin/node");
  }

  void expect_untouched(const std::string& after) const {
    EXPECT_EQ(read_all(path_ / "precious"), "of somebody else") << after;
    EXPECT_TRUE(fs::is_empty(path_ / "elsewhere")) << after;
  }

  bool is_there(const std::string& name) const { return fs::exists(path_ / name); }
};

TEST_F(CliOutputs, LinksInAFolderOfResultsAreNotFollowed) {
  const std::string report = "PATH=$PWD/bin:$PATH; $headroom report results --out page; ";
  for (const char* name : {"results.csv", "index.html", "report.md"}) {
    expect("rm -rf page; mkdir page; ln -s ../precious page/" + std::string(name) + "; " + report,
           4, {std::string("page/") + name + ": it is a symbolic link"});
    expect_untouched(name);
  }
  for (const char* name : {"sweep.lock", "results.jsonl", "environment.json"}) {
    for (const char* link : {"ln -s ../precious", "ln -s ../missing"}) {
      expect(std::string("rm -rf swept; mkdir swept; ") + link + " swept/" + name + "; " + kSweep,
             4, {std::string("swept/") + name + ": it is a symbolic link"});
      expect_untouched(name);
      EXPECT_FALSE(is_there("missing")) << name;
    }
  }
  expect("rm -rf swept; mkdir swept; ln -s ../precious swept/environment.json.new; " + kSweep, 0,
         {});
  expect_untouched("environment.json.new");
}

TEST_F(CliOutputs, AHardLinkIsNoFileOfOurs) {
  for (const char* name : {"sweep.lock", "results.jsonl"}) {
    expect(std::string("rm -rf swept; mkdir swept; ln precious swept/") + name + "; " + kSweep +
               "--resume",
           4, {std::string("swept/") + name + ": it is a hard link"});
    expect_untouched(name);
  }
  expect("rm -rf swept; mkdir swept; ln precious swept/environment.json; " + kSweep, 0, {});
  expect_untouched("environment.json");
}

TEST_F(CliOutputs, FoldersThatAreLinksAreNotFilled) {
  write_sample_folder(path_ / "beta", {machine_cell("tbb", 2, around(2e-3))},
                      environment_of("beta", "one"));
  expect("mkdir page; ln -s ../elsewhere page/pictures; $headroom report results beta --out page",
         4, {"page/pictures: it is a symbolic link"});
  expect_untouched("pictures");
  expect(
      "mkdir store; ln -s ../elsewhere store/.collecting; $headroom collect results --into store",
      4, {"store/.collecting: it is a symbolic link"});
  expect_untouched(".collecting");
  // But the folder itself is where its user says.
  expect("mkdir there; ln -s there here; $headroom report results --out here", 0, {});
  EXPECT_TRUE(is_there("there/index.html"));
}

TEST_F(CliOutputs, AFileThatTheUserNamesMayBeALinkAndKeepsItsPermissions) {
  expect(
      "ln -s precious link; chmod 600 precious; "
      "$headroom export results --to csv --output link",
      0, {});
  EXPECT_TRUE(fs::is_symlink(path_ / "link"));
  EXPECT_EQ(read_all(path_ / "precious").substr(0, 10), "id,status,");
  EXPECT_EQ(fs::status(path_ / "precious").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CliOutputs, WhatIsNoFileIsWrittenAsItStands) {
  const Outcome plain = run("$headroom export results --to csv");
  EXPECT_EQ(run("$headroom export results --to csv --output /dev/stdout | cat").output,
            plain.output);
  expect("mkfifo pipe; cat pipe >got & $headroom export results --to csv --output pipe; wait", 0,
         {});
  EXPECT_EQ(read_all(path_ / "got"), plain.output);
  expect("timeout 20 $headroom export results --to csv --output pipe", 4, {"pipe"});
}

// The error is the write's, and it leaves what was there.
TEST_F(CliOutputs, ALimitOfFileSizesIsAnErrorThatNamesTheFile) {
  write_sample_folder(path_ / "store/machine/one", {with_time(sample_result("tbb"), around(1e-3))},
                      environment_of("alpha", "one"));
  for (const std::string command :
       {"export results --to csv --output out", "pick --from results --output out",
        "compare results results --page out", "trend store --page out",
        "explain simplified --page out", "report results --out out",
        "report results store/machine/one --out out", "merge results --out out",
        "collect results --into out", "tune --output out"}) {
    fs::remove_all(path_ / "out");
    expect(
        "set -o pipefail; (PATH=$PWD/bin:$PATH; ulimit -f 0; $headroom " + command + ") 2>&1 | cat",
        4, {"error: cannot write", "File too large"});
    EXPECT_TRUE(!is_there("out") || fs::is_directory(path_ / "out")) << command;
  }
  expect("set -o pipefail; (ulimit -f 0; " + kSweep + ") 2>&1 | cat", 4,
         {"error: cannot write swept/environment.json", "File too large"});
}

TEST_F(CliOutputs, AFullDiskLeavesTheOldFile) {
  const std::string old(5000, 'x');
  for (const std::string command :
       {"export results --to csv --output out", "pick --from results --emit json --output out",
        "run --config config.json --tokens 64 --seed 1 --backend naive --output out"}) {
    write("out", old);
    write("config.json",
          R"({"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_positions": 64, "n_layer": 1})");
    expect("set -o pipefail; (ulimit -f 1; $headroom " + command + ") 2>&1 | cat", 4,
           {"error: cannot write out"});
    EXPECT_EQ(read_all(path_ / "out"), old) << command;
  }
}

TEST_F(CliOutputs, WhatCannotBeWrittenIsKnownBeforeAnythingIsMeasured) {
  write("full", std::string(3000, 'x'));
  const auto expect_at_once = [&](const std::string& command) {
    const Outcome outcome = run("set -o pipefail; { " + command + "; } 2>&1 | cat");
    EXPECT_EQ(outcome.code, 4) << command << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("error: cannot write"), std::string::npos) << outcome.output;
    for (const char* word : {"[1/", "note: measuring", "round "}) {
      EXPECT_EQ(outcome.output.find(word), std::string::npos) << command << "\n" << outcome.output;
    }
  };
  expect_at_once("$headroom tune --output no/such/tuning.json");
  expect_at_once("$headroom pick --heads 2 --head-dim 4 --tokens 3 --output no/such/file");
  expect_at_once("(ulimit -f 1; $headroom pick --heads 2 --head-dim 4 --tokens 3 --output full)");
  expect_at_once("(ulimit -f 1; " + kSweep + ")");
  expect_at_once("$headroom explain split --page no/such/page.html");
  EXPECT_EQ(read_all(path_ / "full"), std::string(3000, 'x'));
  // Its cells became slower, so both programs would measure again.
  nlohmann::ordered_json environment = environment_of("alpha", "one");
  environment["sweep"]["identity"]["axes"] = {{"heads", "2"}};
  write("results/environment.json", environment.dump());
  write_sample_folder(path_ / "slower",
                      {with_time(sample_result("naive"), around(2e-3)),
                       with_time(sample_result("tbb"), around(4e-3))},
                      environment);
  const std::string compare =
      "$headroom compare results slower --gate all --fail-on-regression --base-program $PWD/ours "
      "--new-program $PWD/ours --page ";
  write("ours", "#!/bin/sh\ntouch measured\nexit 9\n");
  expect("chmod +x ours; " + compare + "no/such/page", 4, {"cannot write no/such/page"});
  expect(compare + "precious", 2, {"precious exists and was not written by headroom"});
  EXPECT_FALSE(is_there("measured"));
  expect(compare + "page", 1, {});
  EXPECT_TRUE(is_there("measured")) << "so the two above had something to be before";
}

TEST_F(CliOutputs, AFileThatIsProtectedStays) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  expect("chmod 444 precious; $headroom export results --to csv --output precious", 4,
         {"precious: Permission denied"});
  expect_untouched("export");
}

TEST_F(CliOutputs, WhatAFullDiskOrAKillLeftIsNoObstacle) {
  const std::string report = "PATH=$PWD/bin:$PATH; $headroom report results --out page";
  expect("mkdir page; touch page/index.html page/report.md; " + report, 0, {});
  expect("touch page.html; $headroom compare results results --page page.html", 0, {});
  expect("mkdir swept; touch swept/results.jsonl; " + kSweep, 0, {});
  EXPECT_EQ(Cli::results("swept").size(), 1u);
  expect("mkdir swept2; touch swept2/.environment.json.Ab3Xy7; " + kSweepInto + "swept2", 0, {});
  EXPECT_FALSE(is_there("swept2/.environment.json.Ab3Xy7"));
}

TEST_F(CliOutputs, AMergeThatWasKilledIsRepeated) {
  const std::string merge = "$headroom merge results --out merged";
  expect("mkdir merged; touch merged/results.jsonl; " + merge, 0, {"2 cells from 1 folders"});
  expect(merge, 0, {"2 cells from 1 folders"});
  write_sample_folder(path_ / "other", {with_time(sample_result("tbb"), around(1e-3))});
  const Outcome refused = run("$headroom merge other --out merged");
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.errors.find("already holds results, which are never overwritten; choose"),
            std::string::npos)
      << refused.errors;
}

}  // namespace
}  // namespace headroom::test::outputs_test
