// Sweeps that were killed, could not write, or met another writer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "support/cli.hpp"

namespace headroom::test::resume_test {
namespace {

using nlohmann::json;

constexpr const char* kFaulty = "'" HEADROOM_FAULTY_PROGRAM "' sweep --backend naive ";
constexpr const char* kMany =
    "--heads 2 --head-dim 4 --tokens 1-40+1 --repetitions 3 --min-time 0.0001 --out results";
constexpr std::size_t kManyCells = 120;

class CliResume : public Cli {
 protected:
  // In its own process group, so that no shell is in between.
  pid_t start(const std::string& arguments) const {
    const std::string line =
        "cd '" + path_.string() + "' && exec " + kFaulty + arguments + " > /dev/null 2> killed.txt";
    const pid_t process = fork();
    if (process == 0) {
      execl("/bin/bash", "bash", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return process;
  }

  // Every line but the last has to be readable whenever the sweep was killed.
  void expect_readable() const {
    const std::string text = read_all(path_ / "results" / "results.jsonl");
    for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos;
         start = end + 1) {
      EXPECT_TRUE(json::accept(text.substr(start, end - start)));
    }
  }

  void expect_every_cell_once() const {
    std::set<std::string> ids;
    for (const json& line : results()) EXPECT_TRUE(ids.insert(line["id"]).second) << line["id"];
    EXPECT_EQ(ids.size(), kManyCells);
  }

  void remove_last_line() const {
    const std::string text = read_all(path_ / "results" / "results.jsonl");
    write("results/results.jsonl", text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  }
};

TEST_F(CliResume, FiftyKillsLoseNoCellAndRepeatNone) {
  std::mt19937 random(20260131);
  std::uniform_int_distribution<int> wait(0, 120);
  int completed = 0;
  for (int kills = 0; kills < 50; ++kills) {
    const pid_t process = start(std::string("--resume ") + kMany);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait(random)));
    kill(process, SIGKILL);
    int status = 0;
    waitpid(process, &status, 0);
    expect_readable();
    if (!WIFEXITED(status)) continue;
    ASSERT_EQ(WEXITSTATUS(status), 0) << read_all(path_ / "killed.txt");
    expect_every_cell_once();
    std::filesystem::remove_all(path_ / "results");
    ++completed;
  }
  expect(std::string(kFaulty) + "--resume " + kMany, 0, {"120 of 120 cells: 120 ok"});
  expect_every_cell_once();
  RecordProperty("sweeps_completed_in_between", completed);
}

TEST_F(CliResume, MeasuresWhatIsMissingAndDropsATornLine) {
  expect(std::string(kFaulty) + kMany, 0, {});
  remove_last_line();
  const std::string before = read_all(path_ / "results" / "results.jsonl");
  write("results/results.jsonl", before + "{\"schema\": \"headroom.ce");
  expect(std::string(kFaulty) + "--resume " + kMany, 0,
         {"torn", "119 cells are already done; 1 to go", "120 of 120 cells"});
  expect_every_cell_once();
  EXPECT_TRUE(read_all(path_ / "results" / "results.jsonl").starts_with(before));
  expect(std::string(kFaulty) + "--resume " + kMany, 0, {"0 to go"});
  expect_every_cell_once();
}

TEST_F(CliResume, CrashedCellsAreTriedAgainAndStandThereOnce) {
  const std::string line = "'" HEADROOM_FAULTY_PROGRAM
                           "' sweep --backend naive,autovec,onednn --formulation split --heads 2 "
                           "--head-dim 4 --tokens 3 --repetitions 3 --min-time 0.001 --out results";
  expect(line, 1, {"1 ok", "1 failed, 1 crashed"});
  expect(line + " --resume", 1, {"2 cells are already done; 1 to go, 1 of which crashed before"});
  EXPECT_EQ(results().size(), 3u);
}

TEST_F(CliResume, RefusesWhatWasMeasuredOtherwise) {
  const std::string tiny =
      std::string(kFaulty) + "--heads 2 --head-dim 4 --repetitions 3 --out results --min-time ";
  expect(tiny + "0.001 --tokens 3", 0, {});
  const std::string results_before = read_all(path_ / "results" / "results.jsonl");
  expect(tiny + "0.001 --tokens 4 --resume", 2, {"--tokens", "'3'", "'4'"});
  expect(tiny + "0.002 --tokens 3 --resume", 2, {"seconds per sample", "0.001", "0.002"});
  expect(tiny + "0.001 --tokens 3 --seed 7 --resume", 2, {"seed is 1", "7 in this run"});
  expect(tiny + "0.001 --tokens 3 --shard 1/2 --resume", 2, {"shard"});
  const std::string environment = read_all(path_ / "results" / "environment.json");
  json other = json::parse(environment);
  other["processor"]["name"] = "Abacus";
  other["build"]["git_revision"] = "0000000";
  write("results/environment.json", other.dump());
  expect(tiny + "0.001 --tokens 3 --resume", 2, {"processor", "Abacus", "revision", "0000000"});
  write("results/environment.json", environment);
  EXPECT_EQ(read_all(path_ / "results" / "results.jsonl"), results_before);
  expect(tiny + "0.001 --tokens 3 --resume", 0, {"0 to go"});
}

TEST_F(CliResume, AFullDiskLeavesAFolderThatCanBeGoneOnWith) {
  // A file size limit, in KiB, makes a write fail in the same way.
  expect("ulimit -f 32; " + std::string(kFaulty) + kMany, 4, {"results.jsonl", "too large"});
  expect_readable();
  const std::size_t finished = results().size();
  EXPECT_GE(finished, 1u);
  EXPECT_LT(finished, kManyCells);
  expect(std::string(kFaulty) + "--resume " + kMany, 0, {"120 of 120 cells"});
  expect_every_cell_once();
}

TEST_F(CliResume, ASecondWriterIsToldWhoHoldsTheFolder) {
  const pid_t first =
      start("--heads 2 --head-dim 4 --tokens 1-400+1 --repetitions 3 --min-time 0.1 --out results");
  for (int i = 0; i < 500 && !std::filesystem::exists(path_ / "results" / "environment.json");
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  expect(std::string(kFaulty) + "--resume " + kMany, 4, {"process " + std::to_string(first)});
  expect(std::string(kFaulty) + kMany, 4, {"process " + std::to_string(first)});
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  // The lock of the dead process does not block; its different sweep still does.
  expect(std::string(kFaulty) + "--resume " + kMany, 2, {"--tokens"});
}

}  // namespace
}  // namespace headroom::test::resume_test
