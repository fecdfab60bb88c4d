// The state of made-up machines: what is read, and the reason for everything that is not.
#include "machine/conditions.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace headroom::machine::conditions_test {
namespace {

class MadeUpConditions : public test::TemporaryFolder {
 protected:
  // What must stand in the reason of an empty value.
  void expect_reason(const std::string& name, const std::string& file, const std::string& what) {
    const auto now = current_conditions(path_);
    ASSERT_TRUE(now.unavailable.contains(name)) << name;
    const std::string& reason = now.unavailable.at(name);
    EXPECT_TRUE(reason.starts_with("not available: ")) << reason;
    EXPECT_NE(reason.find(file + ": " + what), std::string::npos) << reason;
  }
};

TEST_F(MadeUpConditions, AreRead) {
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write("proc/loadavg", "1.25 0.50 0.10 3/200 4711\n");
  write("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  const Conditions now = current_conditions(path_);
  EXPECT_EQ(now.governor, "powersave");
  EXPECT_EQ(now.turbo, false);
  EXPECT_EQ(now.huge_pages, "madvise");
  EXPECT_EQ(now.load, 1.25);
  EXPECT_TRUE(now.unavailable.empty());
  ASSERT_TRUE(processor_time(path_).has_value());
  EXPECT_EQ(processor_time(path_)->all, 36);
  EXPECT_EQ(processor_time(path_)->stolen, 8);
  EXPECT_EQ(why_no_processor_time(path_), "");
}

TEST_F(MadeUpConditions, BoostOfOtherMakersIsRead) {
  write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  const Conditions now = current_conditions(path_);
  EXPECT_EQ(now.turbo, true);
  EXPECT_FALSE(now.unavailable.contains("turbo"));
}

TEST_F(MadeUpConditions, MissingFilesAreNamed) {
  const Conditions now = current_conditions(path_);
  EXPECT_FALSE(now.governor || now.turbo || now.load || now.huge_pages);
  EXPECT_EQ(now.unavailable.size(), 4u);
  expect_reason("governor", "cpu0/cpufreq/scaling_governor", "No such file");
  expect_reason("turbo", "intel_pstate/no_turbo", "No such file");
  expect_reason("turbo", "cpufreq/boost", "No such file");
  expect_reason("load", "proc/loadavg", "No such file");
  expect_reason("huge_pages", "transparent_hugepage/enabled", "No such file");
  EXPECT_FALSE(processor_time(path_).has_value());
  EXPECT_NE(why_no_processor_time(path_).find("proc/stat: No such file"), std::string::npos);
}

TEST_F(MadeUpConditions, FilesThatSayNothingAreNamed) {
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "\n");
  write("sys/devices/system/cpu/cpufreq/boost", "perhaps\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise never\n");
  write("proc/loadavg", "low\n");
  write("proc/stat", "cpu  1 2 3\n");
  expect_reason("governor", "scaling_governor", "does not say");
  expect_reason("turbo", "cpufreq/boost", "does not say");
  expect_reason("huge_pages", "enabled", "does not say");
  expect_reason("load", "loadavg", "does not say");
  EXPECT_NE(why_no_processor_time(path_).find("proc/stat: does not say"), std::string::npos);
}

// Whatever this machine has, nothing is silently missing.
TEST(Conditions, AreThereOrHaveAReason) {
  const Conditions now = current_conditions();
  EXPECT_NE(now.governor.has_value(), now.unavailable.contains("governor"));
  EXPECT_NE(now.turbo.has_value(), now.unavailable.contains("turbo"));
  EXPECT_NE(now.load.has_value(), now.unavailable.contains("load"));
  EXPECT_NE(now.huge_pages.has_value(), now.unavailable.contains("huge_pages"));
}

}  // namespace
}  // namespace headroom::machine::conditions_test
