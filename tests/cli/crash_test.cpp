// One cell cannot hurt another: backends that end their process, and sweeps that survive them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "support/cli.hpp"

namespace headroom::test::crash_test {
namespace {

using nlohmann::json;

class CliCrash : public Cli {
 protected:
  std::map<std::string, json> by_backend() const {
    std::map<std::string, json> all;
    for (const json& line : results()) all[line["backend"]] = line;
    return all;
  }
};

constexpr const char* kSweep = "'" HEADROOM_FAULTY_PROGRAM
                               "' sweep --formulation split --heads 2 --head-dim 4 --tokens 3 "
                               "--repetitions 3 --min-time 0.001 "
                               "--max-memory 64MiB --out results";

TEST_F(CliCrash, EachCellGetsItsOwnStatusAndTheSweepGoesOn) {
  expect(kSweep, 1, {"1 ok", "1 failed, 3 crashed"});
  const auto cells = by_backend();
  ASSERT_EQ(results().size(), 5u);
  EXPECT_EQ(cells.at("naive")["status"], "ok");
  EXPECT_EQ(cells.at("autovec")["status"], "crashed");
  EXPECT_EQ(cells.at("xsimd")["status"], "crashed");
  EXPECT_EQ(cells.at("onednn")["status"], "failed");
  EXPECT_EQ(cells.at("tbb")["status"], "crashed");
  EXPECT_GT(cells.at("naive")["time_s"]["median"], 0);
  EXPECT_EQ(cells.at("naive")["warnings"].size(), 1u);  // it shared its worker with tbb
  EXPECT_NE(cells.at("xsimd")["reason"].get<std::string>().find("memory"), std::string::npos);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these catch the signal
  for (const char* name : {"autovec", "tbb"}) {
    EXPECT_NE(cells.at(name)["reason"].get<std::string>().find("SIGSEGV"), std::string::npos);
  }
#endif
  for (const char* name : {"autovec", "xsimd", "tbb"}) {
    EXPECT_FALSE(cells.at(name).contains("time_s")) << name;
    EXPECT_FALSE(cells.at(name)["reason"].get<std::string>().empty()) << name;
  }
}

// Its samples of the first two processes say nothing of a cell that dies in the third.
TEST_F(CliCrash, ACellMayDieInALaterProcess) {
  expect("HEADROOM_TEST_DIES_IN_THIRD=launches '" HEADROOM_FAULTY_PROGRAM
         "' sweep --backend naive,tbb --formulation split --heads 2 --head-dim 4 --tokens 3 "
         "--repetitions 8 --processes 4 --min-time 0.001 --out results",
         1, {"1 ok", "1 crashed"});
  const auto cells = by_backend();
  ASSERT_EQ(results().size(), 2u);
  EXPECT_EQ(cells.at("tbb")["status"], "crashed");
  EXPECT_FALSE(cells.at("tbb").contains("time_s"));
  EXPECT_EQ(cells.at("naive")["status"], "ok");
  // Three or four, by how long a launch takes beside a sample.
  const std::vector<int> launches = cells.at("naive")["time_s"]["processes"];
  EXPECT_EQ(launches.size(), 8u);
  EXPECT_TRUE(std::is_sorted(launches.begin(), launches.end()));
  EXPECT_GE(launches.back(), 2) << "the others go on after the process in which tbb died";
}

// What the system refuses to one cell it refuses to all: no cell is at fault.
TEST_F(CliCrash, ARefusalOfTheSystemEndsTheSweepWithItsReason) {
  const Outcome outcome =
      run("HEADROOM_TEST_REFUSED=1 " + std::string(kSweep) + " --backend naive,tbb");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.errors.find("the system starts no more threads"), std::string::npos)
      << outcome.errors;
  EXPECT_TRUE(results().empty());
}

TEST_F(CliCrash, ABackendThatHangsIsEndedAndTheOthersKeepTheirTimes) {
  expect("HEADROOM_TEST_HANG=1 " + std::string(kSweep) + " --backend naive,tbb --timeout 0.5s", 1,
         {"1 ok", "1 crashed"});
  const auto cells = by_backend();
  EXPECT_EQ(cells.at("naive")["status"], "ok");
  EXPECT_EQ(cells.at("tbb")["status"], "crashed");
  EXPECT_NE(cells.at("tbb")["reason"].get<std::string>().find("hung"), std::string::npos);
}

// Checks and samples together take several times the timeout, each pass less.
TEST_F(CliCrash, ALongHealthyGroupIsNotTakenForHung) {
  expect("HEADROOM_TEST_SLOW_MS=150 " + std::string(kSweep) + " --backend naive,tbb --timeout 0.5s",
         0, {"2 ok", "0 crashed"});
}

TEST_F(CliCrash, ASampleThatIsLongerThanTheTimeoutIsNoHang) {
  expect("HEADROOM_TEST_SLOW_MS=20 '" HEADROOM_FAULTY_PROGRAM
         "' sweep --backend tbb --formulation split --heads 2 --head-dim 4 --tokens 3 "
         "--repetitions 3 --min-time 1 --timeout 0.5s --out results",
         0, {"1 ok", "0 crashed"});
}

TEST_F(CliCrash, VerifySurvivesABackendThatDies) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers catch the signal";
#endif
  const Outcome outcome = run("'" HEADROOM_FAULTY_PROGRAM
                              "' verify --formulation split --backend autovec,naive --heads 2 "
                              "--head-dim 4 --tokens 3,4");
  EXPECT_EQ(outcome.code, 1) << outcome.errors;
  for (const char* part : {"failed  ", "SIGSEGV", "passed  ", "2 passed, 2 failed, 0 skipped"}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  }
}

// Of the sweep's 64 MiB and the worker's margin of 1 GiB, two such layers take more.
TEST_F(CliCrash, RivalsThatDoNotFitTogetherAreMeasuredOneAfterTheOther) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a program that requests too much memory";
#endif
  expect("HEADROOM_TEST_HELD_MIB=600 '" HEADROOM_FAULTY_PROGRAM
         "' sweep --backend tbb --heads 1 --head-dim 4 --tokens 3 --repetitions 3 "
         "--min-time 0.001 --max-memory 64MiB --out results",
         0, {"3 ok", "0 crashed"});
}

// 0 if there is none. The list that /proc may have of children is not on every machine.
pid_t child_of(pid_t parent) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string name, state;
    pid_t process = 0;
    pid_t its_parent = 0;
    if (file >> process >> name >> state >> its_parent && its_parent == parent && state != "Z") {
      return process;
    }
  }
  return 0;
}

// A sweep whose only worker spends seconds on timing.
class CliWorker : public CliCrash {
 protected:
  void start(const std::string& min_time) {
    const std::string line = "cd '" + path_.string() +
                             "' && exec '" HEADROOM_FAULTY_PROGRAM
                             "' sweep --backend naive --formulation split --heads 2 --head-dim 4 "
                             "--tokens 3 --repetitions 3 --min-time " +
                             min_time + " --out results > /dev/null 2> err.txt";
    sweep_ = fork();
    if (sweep_ == 0) {
      execl("/bin/bash", "bash", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 500 && worker_ == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      // The shell, before it became the sweep, may have had children of its own.
      if (!std::filesystem::exists(path_ / "results" / "environment.json")) continue;
      worker_ = child_of(sweep_);
    }
  }
  void TearDown() override {
    if (sweep_ > 0) kill(sweep_, SIGKILL);
    wait_for_sweep();
    CliCrash::TearDown();
  }
  int wait_for_sweep() {
    if (sweep_ <= 0) return -1;
    int status = 0;
    waitpid(sweep_, &status, 0);
    sweep_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t sweep_ = 0;
  pid_t worker_ = 0;
};

bool gone(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    std::string state;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    if (!(file >> state >> state >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(CliWorker, EndsWithItsSweepHoweverThatEnds) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    std::filesystem::remove_all(path_ / "results");
    worker_ = 0;
    start("10");
    ASSERT_GT(worker_, 0);
    kill(sweep_, signal);
    EXPECT_EQ(wait_for_sweep(), signal == SIGKILL ? -1 : 128 + signal);
    EXPECT_TRUE(gone(worker_)) << "after signal " << signal;
    EXPECT_TRUE(results().empty());
  }
}

TEST_F(CliWorker, KilledFromOutsideIsACrashThatSaysSo) {
  start("10");
  ASSERT_GT(worker_, 0);
  kill(worker_, SIGKILL);
  // The rivals of a worker that died are tried alone; this one is killed there again.
  pid_t second = worker_;
  for (int i = 0; i < 500 && (second == worker_ || second == 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    second = child_of(sweep_);
  }
  if (second > 0 && second != worker_) kill(second, SIGKILL);
  EXPECT_EQ(wait_for_sweep(), 1);
  ASSERT_EQ(results().size(), 1u);
  EXPECT_EQ(results()[0]["status"], "crashed");
  const std::string reason = results()[0]["reason"];
  EXPECT_NE(reason.find("SIGKILL"), std::string::npos) << reason;
  EXPECT_NE(reason.find("memory"), std::string::npos) << reason;
}

}  // namespace
}  // namespace headroom::test::crash_test
