// What every test program says of a case that failed, ended the process or was skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace headroom::test::main_test {
namespace {

/// Says what the case below is to do, which passes for everyone else.
constexpr const char* kVariable = "HEADROOM_TEST_ENDS_BY";

/// All that this very program prints of the case below.
std::string output_of(const std::string& end) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = std::string(kVariable) + "=" + end + " HEADROOM_ISA=avx2 '" +
                              program + "' --gtest_brief=1 --gtest_filter='*Main.Ends/0' 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  return text;
}

constexpr const char* kRepeatLine = "house_tests --gtest_filter='Numbers/Main.Ends/0'\n";

class Main : public testing::TestWithParam<int> {};

TEST_P(Main, Ends) {
  const char* end = std::getenv(kVariable);
  const std::string wanted = end != nullptr ? end : "pass";
  if (wanted == "abort") std::abort();
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a fault, as it was told
  if (wanted == "fault") *std::getenv("HEADROOM_THAT_NOBODY_SETS") = 0;
  if (wanted == "skip") GTEST_SKIP() << "as it was told";
  EXPECT_NE(wanted, "fail");
}

INSTANTIATE_TEST_SUITE_P(Numbers, Main, testing::Values(1));

TEST(MainOfTests, PrintsTheLineThatRepeatsACaseThatFailed) {
  const std::string text = output_of("fail");
  EXPECT_NE(text.find("to repeat it: HEADROOM_ISA='avx2' /"), std::string::npos) << text;
  EXPECT_NE(text.find(kRepeatLine), std::string::npos) << text;
}

TEST(MainOfTests, NamesACaseThatEndsTheProcess) {
  for (const char* end : {"abort", "fault"}) {
    const std::string text = output_of(end);
    EXPECT_NE(text.find("ended by a signal or its time; to repeat it: "), std::string::npos)
        << end << ": " << text;
    EXPECT_NE(text.find(kRepeatLine), std::string::npos) << end << ": " << text;
  }
}

TEST(MainOfTests, SaysWhyACaseWasSkipped) {
  const std::string text = output_of("skip");
  EXPECT_NE(text.find("skipped case: Numbers/Main.Ends/0: as it was told\n"), std::string::npos)
      << text;
}

TEST(MainOfTests, SaysNothingOfACaseThatPassed) {
  const std::string text = output_of("pass");
  EXPECT_NE(text.find("1 test"), std::string::npos) << text;
  EXPECT_EQ(text.find("to repeat it"), std::string::npos) << text;
  EXPECT_EQ(text.find("skipped case"), std::string::npos) << text;
}

}  // namespace
}  // namespace headroom::test::main_test
