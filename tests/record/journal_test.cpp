#include "record/journal.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/memory.hpp"
#include "program/exit_code.hpp"
#include "record/result.hpp"
#include "support/child.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::record::journal_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

class Folder : public test::TemporaryFolder {
 protected:
  std::vector<std::string> lines(const fs::path& name) const {
    std::ifstream file(path_ / name);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
};

using Journals = Folder;
using MemoryLimits = Folder;

TEST_F(Journals, WritesALineACell) {
  Journal journal(path_ / "new" / "folder");
  journal.write_environment({{"schema", "headroom.environment/1"}});
  journal.append({{"id", "a"}});
  journal.append({{"id", "b"}});
  EXPECT_EQ(lines("new/folder/results.jsonl"),
            (std::vector<std::string>{R"({"id":"a"})", R"({"id":"b"})"}));
}

TEST_F(Journals, NeverOverwritesResults) {
  { Journal(path_).append({{"id", "a"}}); }
  EXPECT_THROW(Journal{path_}, ResourceError);
  EXPECT_EQ(lines("results.jsonl").size(), 1u);
}

// A process that was killed before its first cell leaves a file without a line.
TEST_F(Journals, AnEmptyFileHoldsNoResults) {
  { Journal journal(path_); }
  Journal(path_).append({{"id", "a"}});
  EXPECT_EQ(lines("results.jsonl").size(), 1u);
}

TEST_F(Journals, AFileInTheWayIsAnErrorThatNamesIt) {
  write("file", "");
  try {
    Journal journal(path_ / "file" / "results");
    FAIL() << "a folder inside a file was accepted";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find((path_ / "file").string()), std::string::npos);
  }
}

// In a child with an alarm: what opens a FIFO to write to it waits for ever.
TEST_F(Journals, WhatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  for (const char* name : {"sweep.lock", "results.jsonl", "environment.json"}) {
    for (const char* kind : {"a FIFO", "a directory"}) {
      const fs::path folder = path_ / name / kind;
      fs::create_directories(folder);
      if (std::string(kind) == "a FIFO") {
        ASSERT_EQ(mkfifo((folder / name).c_str(), 0600), 0);
      } else {
        fs::create_directory(folder / name);
      }
      const std::string outcome = test::in_child([&]() -> std::string {
        alarm(5);
        try {
          Journal(folder, Journal::Start::go_on).write_environment({{"schema", "x"}});
        } catch (const std::runtime_error& error) {
          return error.what();
        }
        return "taken";
      });
      const std::string found = std::string(name) == "environment.json"
                                    ? "it exists and is not a regular file"
                                    : std::string("it is ") + kind;
      EXPECT_NE(outcome.find(std::string(name) + ": " + found), std::string::npos) << outcome;
    }
  }
}

TEST_F(Journals, TextThatIsNoUtf8DoesNotEndASweep) {
  Journal journal(path_);
  EXPECT_NO_THROW(journal.append({{"name", "caf\xe9"}}));
}

// A file-size limit stands for a full disk: the write is short in the same way.
TEST_F(Journals, AShortWriteIsTakenBack) {
  Journal journal(path_);
  journal.append({{"id", "kept"}});
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{64, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_THROW(journal.append({{"id", std::string(500, 'x')}}), ResourceError);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(lines("results.jsonl"), (std::vector<std::string>{R"({"id":"kept"})"}));
  journal.append({{"id", "after"}});
  EXPECT_EQ(lines("results.jsonl").size(), 2u);
}

TEST(ResultLine, HasTheFieldsOfTheContract) {
  CellResult result;
  result.shape.tokens = 4;
  result.shape.d_in = result.shape.d_out = result.shape.d_proj = 8;
  result.cell.backend = "naive";
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result.time = summarise({0.5, 0.25, 1}, {0, 0, 1}, 1);
  result.costs = AttentionCosts{};
  result.error = reference::Comparison{};
  const ordered_json line = to_json(result);
  for (const char* key :
       {"schema",    "id",     "status",        "reason",  "formulation",  "backend",
        "precision", "dtype",  "threads",       "isa",     "shape",        "time_s",
        "flops",     "gflops", "peak_fraction", "setup_s", "packed_bytes", "workspace_bytes",
        "phases_s",  "error",  "provenance"}) {
    EXPECT_TRUE(line.contains(key)) << key;
  }
  EXPECT_EQ(line["schema"], "headroom.cell/1");
  EXPECT_EQ(line["time_s"]["median"], 0.5);
  EXPECT_EQ(line["time_s"]["min"], 0.25);
  EXPECT_EQ(line["time_s"]["samples"].size(), 3u);
  EXPECT_EQ(line["time_s"]["processes"], (std::vector<int>{0, 0, 1}));
  EXPECT_TRUE(line["reason"].is_null());
}

TEST(ResultLine, AllButOkCarryAReasonAndNoTime) {
  for (const Status status : {Status::unsupported, Status::skipped, Status::failed}) {
    CellResult result;
    result.status = status;
    result.reason = "because";
    const ordered_json line = to_json(result);
    EXPECT_EQ(line["reason"], "because");
    EXPECT_FALSE(line.contains("time_s"));
    EXPECT_FALSE(line.contains("gflops"));
  }
}

TEST_F(MemoryLimits, IsWhatTheMachineHasLeft) {
  write("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:   1000 kB\n");
  EXPECT_EQ(machine::memory_limit(path_).bytes, 1000 * 1024);
}

TEST_F(MemoryLimits, AControlGroupOfVersion2Binds) {
  write("proc/meminfo", "MemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/memory.max", "500000\n");
  write("sys/fs/cgroup/outer/memory.current", "300000\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(machine::memory_limit(path_).bytes, 300000);
}

TEST_F(MemoryLimits, AControlGroupOfVersion1Binds) {
  write("proc/meminfo", "MemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/docker/abc\n0::/\n");
  // As a container sees it: its own group is mounted as the root.
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "150000\n");
  EXPECT_EQ(machine::memory_limit(path_).bytes, 250000);
}

TEST_F(MemoryLimits, VersionOnesHugeNumberIsNoLimit) {
  write("proc/meminfo", "MemAvailable: 1000 kB\n");
  write("proc/self/cgroup", "4:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(machine::memory_limit(path_).bytes, 1000 * 1024);
}

}  // namespace
}  // namespace headroom::record::journal_test
