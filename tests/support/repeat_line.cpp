// Linked into every test program: a test that failed prints the line that repeats it.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

/// What changes how a layer runs, as it was before any test changed it.
std::string variables() {
  std::string text;
  for (const char* name : {"HEADROOM_ISA", "HEADROOM_TUNING"}) {
    if (const char* value = std::getenv(name)) {
      text.append(name).append("='").append(value).append("' ");
    }
  }
  return text;
}

class RepeatLine final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::cout << "to repeat it: " << variables_ << program_invocation_name << " --gtest_filter='"
              << test.test_suite_name() << '.' << test.name() << '\'' << std::endl;
  }

  std::string variables_ = variables();
};

// GoogleTest owns it from here on.
[[maybe_unused]] const bool kAppended = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new RepeatLine);
  return true;
}();

}  // namespace
