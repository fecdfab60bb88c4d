// A folder that goes with its owner, and with nobody else.
#include "program/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "program/exit_code.hpp"

namespace headroom::scratch_folder_test {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithItsOwner) {
  fs::path path;
  {
    const ScratchFolder scratch("headroom-test");
    path = scratch.path();
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_NO_THROW(scratch.require());
  }
  EXPECT_FALSE(fs::exists(path));
}

// Workers are forked, and one that fails leaves all functions that its parent is in.
TEST(ScratchFolder, StaysWhenAChildLeavesItsFunction) {
  const auto scratch = std::make_unique<ScratchFolder>("headroom-test");
  const pid_t child = fork();
  if (child == 0) {
    scratch->~ScratchFolder();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::is_directory(scratch->path()));
}

TEST(ScratchFolder, ThatDisappearedIsAnErrorThatNamesIt) {
  const ScratchFolder scratch("headroom-test");
  fs::remove_all(scratch.path());
  try {
    scratch.require();
    FAIL() << "nothing was said";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find(scratch.path().string()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("TMPDIR"), std::string::npos) << error.what();
  }
}

TEST(ScratchFolder, ThatCannotBeMadeIsAnErrorThatNamesIt) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc/self", 1);  // a folder in which nobody can make one
  try {
    const ScratchFolder scratch("headroom-test");
    ADD_FAILURE() << scratch.path();
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/self/headroom-test"), std::string::npos)
        << error.what();
  }
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace headroom::scratch_folder_test
