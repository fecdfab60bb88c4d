// Files that are replaced whole or not at all.
#include "program/files/fresh_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

#include "headroom/error.hpp"
#include "support/child.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::fresh_file_test {
namespace {

namespace fs = std::filesystem;

class FreshFiles : public test::TemporaryFolder {
 protected:
  std::string text(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

  // What it says that cannot be written; empty if it can.
  static std::string refused(const std::function<void()>& work) {
    try {
      work();
    } catch (const ResourceError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(FreshFiles, AreNotThereBeforeTheyAreWhole) {
  write("file", "old");
  {
    FreshFile file(path_ / "file");
    file.write("new");
    EXPECT_EQ(text("file"), "old");
  }
  EXPECT_EQ(text("file"), "old");
  EXPECT_EQ(files(), 1U) << "nothing is left";
  FreshFile file(path_ / "file");
  file.write("n");
  file.write("ew");
  file.commit();
  EXPECT_EQ(text("file"), "new");
  EXPECT_EQ(files(), 1U);
}

// A file-size limit stands for a full disk.
TEST_F(FreshFiles, ThatCannotBeWrittenLeaveTheOldOnes) {
  write("file", "old");
  const std::string outcome = test::in_child([&]() -> std::string {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{64, 64};
    setrlimit(RLIMIT_FSIZE, &tight);
    return refused([&] { write_file(path_ / "file", std::string(100, 'x')); }) +
           refused([&] { require_writable(path_ / "file"); });
  });
  EXPECT_NE(outcome.find("file: File too large"), outcome.rfind("file: File too large")) << outcome;
  EXPECT_EQ(text("file"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FreshFiles, KeepThePermissionsOfTheOldOnes) {
  write("secret", "old");
  fs::permissions(path_ / "secret", fs::perms::owner_read | fs::perms::owner_write);
  write_file(path_ / "secret", "new");
  EXPECT_EQ(fs::status(path_ / "secret").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  const mode_t before = umask(027);
  write_file(path_ / "open", "new");
  umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path_ / "open").permissions()), 0640U);
}

TEST_F(FreshFiles, FollowALinkOrRefuseIt) {
  write("there/file", "old");
  fs::create_symlink("there/file", path_ / "link");
  EXPECT_NE(refused([&] {
              write_file(path_ / "link", "new", Links::refuse);
            }).find("link: it is a symbolic link"),
            std::string::npos);
  EXPECT_EQ(text("there/file"), "old");
  write_file(path_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(path_ / "link"));
  EXPECT_EQ(text("there/file"), "new");
}

TEST_F(FreshFiles, ReplaceNeitherFoldersNorDevices) {
  fs::create_directory(path_ / "folder");
  EXPECT_NE(refused([&] { write_file(path_ / "folder", "new"); }).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(refused([] { FreshFile file("/dev/null"); }).find("not a regular file"),
            std::string::npos);
  EXPECT_EQ(refused([] { write_file("/dev/null", "new"); }), "");
  ASSERT_EQ(mkfifo((path_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refused([&] { write_file(path_ / "pipe", "new"); }), "") << "nobody reads it";
}

TEST_F(FreshFiles, ThatAreOnlyTriedStayAsTheyAre) {
  write("file", "old");
  require_writable(path_ / "file", "something");
  require_writable(path_ / "new");
  EXPECT_EQ(text("file"), "old");
  EXPECT_EQ(files(), 1U);
  EXPECT_NE(refused([&] { require_writable(path_ / "no" / "folder"); }), "");
}

TEST_F(FreshFiles, OfAProcessThatWasKilledAreRemoved) {
  for (const char* name : {".file.abcDEF", ".file.abcDEF.more", ".files.abcDEF", ".fil.abcDEF"}) {
    write(name, "");
  }
  remove_unfinished(path_ / "file");
  EXPECT_FALSE(fs::exists(path_ / ".file.abcDEF"));
  EXPECT_EQ(files(), 3U);
}

TEST_F(FreshFiles, MayHaveTheLongestName) {
  const std::string name(255, 'n');
  write_file(path_ / name, "new");
  EXPECT_EQ(text(name), "new");
}

}  // namespace
}  // namespace headroom::fresh_file_test
