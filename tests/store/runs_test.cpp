#include "store/runs.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;

void make_run(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream(folder / "environment.json") << "{}";
  std::ofstream(folder / "results.jsonl") << "";
}

TEST(Runs, OfAResultsFolderAreItself) {
  const test::TemporaryFolder folder;
  make_run(folder.path() / "run");
  make_run(folder.path() / "run" / "machine" / "version");
  EXPECT_EQ(runs_in(folder.path() / "run"), std::vector{folder.path() / "run"});
}

TEST(Runs, OfAStoreAreTwoLevelsBelowIt) {
  const test::TemporaryFolder folder;
  const fs::path store = folder.path();
  make_run(store / "b" / "2");
  make_run(store / "b" / "1");
  make_run(store / "a" / "3");
  make_run(store / "a" / "3" / "deeper" / "4");
  fs::create_directories(store / "a" / "empty");
  std::ofstream(store / "README.md") << "a text";
  fs::create_directory_symlink(store / "a", store / "link");
  EXPECT_EQ(runs_in(store), (std::vector{store / "a" / "3", store / "b" / "1", store / "b" / "2"}));
}

TEST(Runs, AreRefusedWhereThereAreNone) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "a text";
  EXPECT_THROW(runs_in(folder.path()), FileError);
  EXPECT_THROW(runs_in(folder.path() / "file"), FileError);
  EXPECT_THROW(runs_in(folder.path() / "missing"), FileError);
}

}  // namespace
}  // namespace headroom::store
