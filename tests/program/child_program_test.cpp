// Programs that end with whoever started them.
#include "program/child_program.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace headroom::child_program_test {
namespace {

namespace fs = std::filesystem;

constexpr ChildProgram::Files kOwn{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

class ChildPrograms : public test::TemporaryFolder {
 protected:
  // Starts two more, one of which starts a third, and says who they are.
  std::vector<std::string> family() const {
    return {"-c",
            "cd '" + path_.string() +
                "' && { sleep 1000 & echo $! >one; sh -c 'sleep 1000 & echo $! >two; wait' & echo "
                "$$ $! >three; wait; }"};
  }

  std::vector<pid_t> processes() const {
    std::vector<pid_t> all;
    for (int look = 0; look < 1000 && all.size() < 4; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      all.clear();
      for (const char* name : {"one", "two", "three"}) {
        std::ifstream file(path_ / name);
        for (pid_t process = 0; file >> process;) all.push_back(process);
      }
    }
    return all;
  }

  // One that nobody has waited for has ended as well.
  static bool has_ended(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    return !(file >> number >> name >> state) || state == "Z" || state == "X";
  }

  static void expect_ended(const std::vector<pid_t>& all) {
    EXPECT_EQ(all.size(), 4U);
    for (const pid_t process : all) {
      for (int look = 0; look < 1000 && !has_ended(process); ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      EXPECT_TRUE(has_ended(process)) << process;
    }
  }
};

TEST_F(ChildPrograms, TellHowTheyEnded) {
  EXPECT_EQ(exit_code_of(ChildProgram("sh", {"-c", "exit 7"}, kOwn).wait().value()), 7);
  EXPECT_EQ(exit_code_of(ChildProgram("sh", {"-c", "kill -9 $$"}, kOwn).wait().value()), 137);
  try {
    const ChildProgram program("/no/such/program", {}, kOwn);
    FAIL() << "it was started";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
  }
}

TEST_F(ChildPrograms, EndWithTheirObjectAndAllThatTheyStarted) {
  std::vector<pid_t> all;
  {
    ChildProgram program("sh", family(), kOwn);
    EXPECT_FALSE(program.wait(0.01));
    all = processes();
  }
  expect_ended(all);
}

TEST_F(ChildPrograms, EndWhenTheirOwnerIsKilled) {
  const pid_t owner = fork();
  if (owner == 0) {
    ChildProgram program("sh", family(), kOwn);
    program.wait();
    _exit(0);
  }
  const std::vector<pid_t> all = processes();
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  expect_ended(all);
}

TEST_F(ChildPrograms, ThatDoNotObeyAreKilled) {
  const auto start = std::chrono::steady_clock::now();
  {
    ChildProgram program("sh",
                         {"-c", "trap '' TERM; touch '" + (path_ / "ready").string() +
                                    "'; while :; do sleep 0.01; done"},
                         kOwn);
    while (!fs::exists(path_ / "ready")) EXPECT_FALSE(program.wait(0.01));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

// They look at no write: a pipe without a reader ends them, as their authors expect.
TEST_F(ChildPrograms, HaveTheirOwnSignals) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(exit_code_of(ChildProgram("sh", {"-c", "kill -PIPE $$; exit 3"}, kOwn).wait().value()),
            128 + SIGPIPE);
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace headroom::child_program_test
