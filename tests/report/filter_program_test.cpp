// A program that draws, or does not.
#include "report/page/filter_program.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace headroom::report::filter_program_test {
namespace {

constexpr double kEnough = 600;
constexpr double kShort = 0.2;

FilterResult shell(const std::string& line, const std::string& input, double seconds = kEnough) {
  std::signal(SIGPIPE, SIG_IGN);  // as the program does
  return filter_through("sh", {"-c", line}, input, seconds);
}

TEST(FilterProgram, AnswersWhateverTheOrder) {
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(shell("cat", much).output, much);
  const FilterResult before = shell("echo answer; cat", much);
  EXPECT_EQ(before.output, "answer\n" + much);
  EXPECT_EQ(before.reason, "");
  EXPECT_EQ(shell("echo unread", much).output, "unread\n");
}

TEST(FilterProgram, SaysHowItEnded) {
  EXPECT_EQ(shell("exit 3", "").reason, "it ended with 3");
  EXPECT_EQ(shell("kill -9 $$", "").reason, "it was ended by signal 9");
  const FilterResult missing = filter_through("/no/such/program", {}, "", kEnough);
  EXPECT_FALSE(missing.started);
  EXPECT_EQ(missing.reason, "No such file or directory");
}

TEST(FilterProgram, ThatHangsIsEnded) {
  for (const char* line :
       {"sleep 1000", "echo half; sleep 1000 & wait", "cat >/dev/null; exec >&-; sleep 1000"}) {
    const FilterResult result = shell(line, std::string(1 << 20, 'x'), kShort);
    EXPECT_TRUE(result.started);
    EXPECT_EQ(result.reason, "it had not answered after 0.2 s, and was ended") << line;
  }
}

}  // namespace
}  // namespace headroom::report::filter_program_test
