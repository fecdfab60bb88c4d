// A failing test of any program prints the line that repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace headroom::test {
namespace {

/// Makes the test below fail, which passes for everyone else.
constexpr const char* kVariable = "HEADROOM_TEST_FAILS";

/// Standard output of this very program with one test.
std::string output_of(const std::string& filter) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = std::string(kVariable) + "=1 HEADROOM_ISA=avx2 '" + program +
                              "' --gtest_filter='" + filter + "'";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  return text;
}

class RepeatLine : public testing::TestWithParam<int> {};

TEST_P(RepeatLine, FailsWhereItIsToldTo) {
  EXPECT_TRUE(std::getenv(kVariable) == nullptr || GetParam() == 2);
}

INSTANTIATE_TEST_SUITE_P(Numbers, RepeatLine, testing::Values(1, 2));

TEST(RepeatLineOfATest, IsPrintedWhereItFails) {
  const std::string text = output_of("*RepeatLine.FailsWhereItIsToldTo/0");
  EXPECT_NE(text.find("to repeat it: HEADROOM_ISA='avx2' /"), std::string::npos) << text;
  EXPECT_NE(text.find("house_repeat_line_test "
                      "--gtest_filter='Numbers/RepeatLine.FailsWhereItIsToldTo/0'\n"),
            std::string::npos)
      << text;
}

TEST(RepeatLineOfATest, IsNotPrintedWhereItPasses) {
  const std::string text = output_of("*RepeatLine.FailsWhereItIsToldTo/1");
  EXPECT_NE(text.find("1 test"), std::string::npos) << text;
  EXPECT_EQ(text.find("to repeat it"), std::string::npos) << text;
}

}  // namespace
}  // namespace headroom::test
