// What a power cut would take: fsync is this file's own, which sees every folder that is synced.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>

#include "program/exit_code.hpp"
#include "record/journal.hpp"
#include "support/temporary_folder.hpp"

namespace {

std::set<std::string> synced;
int refused_with = 0;

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): __fd is not for us to use
extern "C" int fsync(int file) {
  std::error_code ignored;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), ignored);
  if (refused_with != 0 && std::filesystem::is_directory(path)) {
    errno = refused_with;
    return -1;
  }
  synced.insert(path.string());
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace headroom::record {
namespace {

class Synced : public test::TemporaryFolder {
 protected:
  void SetUp() override {
    test::TemporaryFolder::SetUp();
    synced.clear();
    refused_with = 0;
  }
};

TEST_F(Synced, AreTheParentsOfEveryFolderThatIsMade) {
  Journal journal(path_ / "a" / "b" / "results");
  for (const auto& folder :
       {path_, path_ / "a", path_ / "a" / "b", path_ / "a" / "b" / "results"}) {
    EXPECT_EQ(synced.count(std::filesystem::canonical(folder).string()), 1U) << folder;
  }
}

TEST_F(Synced, AnErrorOfAFolderIsReported) {
  refused_with = EIO;
  try {
    Journal journal(path_ / "results");
    FAIL() << "the error was lost";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot sync the folder"), std::string::npos);
  }
}

TEST_F(Synced, AFileSystemThatCannotSyncFoldersIsTaken) {
  refused_with = EINVAL;
  EXPECT_NO_THROW(Journal(path_ / "results"));
}

}  // namespace
}  // namespace headroom::record
