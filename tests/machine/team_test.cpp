// The thread team: every thread does its share, and failing to start one is an error.
#include "machine/meters/team.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "headroom/error.hpp"

namespace headroom::machine::team_test {
namespace {

// A team that waits forever ends the test program instead of hanging it.
class Teams : public testing::Test {
 protected:
  void SetUp() override { alarm(60); }
  void TearDown() override { alarm(0); }
};

std::string refusal(int threads, const ThreadStarter& start) {
  try {
    const Team team(
        threads, [](int) {}, start);
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "";
}

// Starts `most` threads, counts those that came to their end, and refuses the next as `refuse` has
// it.
struct ScarceThreads {
  int most;
  std::function<void()> refuse;
  std::atomic<int> started{0}, ended{0};

  std::jthread operator()(const std::function<void()>& work) {
    if (started == most) refuse();
    ++started;
    return std::jthread([this, work] {
      work();
      ++ended;
    });
  }
};

TEST_F(Teams, EveryThreadDoesItsShareInEachRun) {
  std::vector<int> done(5);
  Team team(5, [&](int index) { done[static_cast<std::size_t>(index)] += 1; });
  team.run();
  team.run();
  EXPECT_EQ(done, std::vector<int>(5, 2));
  team.run([&](int index) { done[static_cast<std::size_t>(index)] = index; });
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4}));
  team.run();
  EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 15) << "the first share comes back";
}

TEST_F(Teams, OneThreadNeedsNoOther) {
  ScarceThreads none{0, [] { throw std::bad_alloc(); }};
  int runs = 0;
  Team team(
      1, [&](int) { ++runs; }, std::ref(none));
  team.run();
  EXPECT_EQ(runs, 1);
}

TEST_F(Teams, AThreadThatCannotBeStartedIsAnErrorAndTheOthersEnd) {
  for (const int most : {0, 1, 6}) {
    ScarceThreads scarce{
        most, [] {
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        }};
    const std::string message = refusal(8, std::ref(scarce));
    EXPECT_NE(message.find("thread " + std::to_string(most + 2) + " of 8"), std::string::npos)
        << message;
    EXPECT_NE(message.find("ulimit -u"), std::string::npos) << message;
    EXPECT_EQ(scarce.started, most);
    EXPECT_EQ(scarce.ended, most);
  }
}

TEST_F(Teams, AnyOtherErrorOfAStartPassesAndTheOthersEnd) {
  ScarceThreads scarce{3, [] { throw std::bad_alloc(); }};
  EXPECT_THROW(Team(
                   8, [](int) {}, std::ref(scarce)),
               std::bad_alloc);
  EXPECT_EQ(scarce.ended, 3);
}

// Ends the process: 0 if the team refused with the reason, 1 if not, 77 if no limit can be set.
[[noreturn]] void make_team_under_limit() {
  alarm(30);
  // Limits of processes do not bind root.
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(77);
  const rlimit limit{20, 20};
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(77);
  const std::string message = refusal(64, start_thread);
  _exit(message.find(" of 64: ") != std::string::npos ? 0 : 1);
}

TEST_F(Teams, AreRefusedUnderALimitOfProcesses) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) make_team_under_limit();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "died of signal " << WTERMSIG(status)
                                 << "; SIGALRM means that it waited forever";
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot become another user or limit its threads";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace headroom::machine::team_test
