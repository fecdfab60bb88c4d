#include "store/runs.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::store::runs_test {
namespace {

namespace fs = std::filesystem;

class Runs : public test::TemporaryFolder {};

void make_run(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream(folder / "environment.json") << "{}";
  std::ofstream(folder / "results.jsonl") << "";
}

TEST_F(Runs, OfAResultsFolderAreItself) {
  make_run(path_ / "run");
  make_run(path_ / "run" / "machine" / "version");
  EXPECT_EQ(runs_in(path_ / "run"), std::vector{path_ / "run"});
}

TEST_F(Runs, OfAStoreAreTwoLevelsBelowIt) {
  const fs::path store = path_;
  make_run(store / "b" / "2");
  make_run(store / "b" / "1");
  make_run(store / "a" / "3");
  make_run(store / "a" / "3" / "deeper" / "4");
  fs::create_directories(store / "a" / "empty");
  make_run(store / ".collecting" / "run");
  std::ofstream(store / "README.md") << "a text";
  fs::create_directory_symlink(store / "a", store / "link");
  EXPECT_EQ(runs_in(store), (std::vector{store / "a" / "3", store / "b" / "1", store / "b" / "2"}));
}

TEST_F(Runs, OfANewStoreAreNone) {
  EXPECT_TRUE(stored_runs(path_).empty());
  EXPECT_TRUE(stored_runs(path_ / "missing").empty());
  std::ofstream(path_ / "file") << "a text";
  EXPECT_THROW(stored_runs(path_ / "file"), FileError);
}

TEST_F(Runs, AreRefusedWhereThereAreNone) {
  std::ofstream(path_ / "file") << "a text";
  EXPECT_THROW(runs_in(path_), FileError);
  EXPECT_THROW(runs_in(path_ / "file"), FileError);
  EXPECT_THROW(runs_in(path_ / "missing"), FileError);
}

}  // namespace
}  // namespace headroom::store::runs_test
