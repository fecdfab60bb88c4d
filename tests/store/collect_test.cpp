#include "store/collect.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "record/folder_lock.hpp"
#include "record/results_folder.hpp"
#include "store/runs.hpp"
#include "support/child.hpp"
#include "support/sample_peers.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::store::collect_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using record::CellResult;
using record::Status;
using test::around;
using test::sample_result;
using test::with_time;
using Taken = Collected::Taken;

ordered_json environment_at(const std::string& time, const std::string& revision = "abc123") {
  ordered_json environment = test::sample_environment();
  environment["headroom"] = "0.1.0";
  environment["build"]["git_revision"] = revision;
  environment["time"] = time;
  return environment;
}

const std::string kMonday = "2026-11-23T12:00:00Z";
const std::string kFriday = "2026-11-27T12:00:00Z";

class Collect : public test::TemporaryFolder {
 protected:
  void SetUp() override {
    test::TemporaryFolder::SetUp();
    store_ = path_ / "store";
  }

  fs::path make(const std::string& name, const std::vector<CellResult>& results,
                const ordered_json& environment = environment_at(kMonday)) const {
    test::write_sample_folder(path_ / name, results, environment);
    return path_ / name;
  }

  Collected take(const fs::path& folder) const { return collect({folder}, store_, {}).front(); }

  // Every file of the store that Git would see, with its text.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    if (!fs::exists(store_)) return all;
    for (const auto& entry : fs::recursive_directory_iterator(store_)) {
      const std::string name = entry.path().lexically_relative(store_).generic_string();
      if (!entry.is_regular_file() || name.starts_with(".collecting")) continue;
      std::ifstream file(entry.path());
      all[name] = {std::istreambuf_iterator<char>(file), {}};
    }
    return all;
  }

  record::ResultsFolder stored(const Collected& one) const {
    return record::read_results_folder(store_ / one.place);
  }

  fs::path store_;
};

std::vector<CellResult> two_cells() {
  return {with_time(sample_result("tbb"), around(1e-3)),
          with_time(sample_result("xsimd"), around(2e-3))};
}

TEST_F(Collect, PutsARunWhereItsMachineAndVersionAre) {
  const Collected one = take(make("run", two_cells()));
  EXPECT_EQ(one.taken, Taken::as_new);
  EXPECT_EQ(one.cells, 2U);
  EXPECT_EQ(one.timed, 2U);
  EXPECT_EQ(one.place.filename(), "0.1.0-abc123");
  EXPECT_EQ(runs_in(store_), std::vector{store_ / one.place});
  const record::ResultsFolder read = stored(one);
  EXPECT_EQ(read.lines, record::read_results_folder(path_ / "run").lines);
  EXPECT_TRUE(read.notes.empty());
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(Collect, ASecondTimeNothingIsNew) {
  const fs::path run = make("run", two_cells());
  take(run);
  const auto before = files();
  const Collected again = take(run);
  EXPECT_EQ(again.taken, Taken::nothing);
  EXPECT_EQ(again.known, 2U);
  EXPECT_EQ(collect({store_}, store_, {}).front().taken, Taken::nothing);
  EXPECT_EQ(files(), before);
}

TEST_F(Collect, WhatOneProcessSampledIsNotTaken) {
  std::vector<CellResult> cells = two_cells();
  for (CellResult& cell : cells) cell = test::of_one_launch(std::move(cell));
  const Collected one = take(make("run", cells));
  EXPECT_EQ(one.taken, Taken::nothing);
  EXPECT_EQ(one.known, 0U);
  ASSERT_FALSE(one.notes.empty());
  EXPECT_EQ(one.notes.back(),
            "its samples are of one process, so no verdict can rest on them; not taken");
  EXPECT_TRUE(files().empty());
  cells.back() = two_cells().back();  // one of several is enough
  EXPECT_EQ(take(make("mixed", cells)).cells, 2U);
}

// Samples of two days were not taken beside each other.
TEST_F(Collect, AnotherRunOfAVersionStaysAlone) {
  const Collected first = take(make("monday", two_cells()));
  const Collected second = take(
      make("friday", {with_time(sample_result("tbb"), around(1.1e-3))}, environment_at(kFriday)));
  EXPECT_EQ(second.taken, Taken::as_new);
  EXPECT_EQ(second.place, fs::path(first.place.string() + ".2"));
  EXPECT_EQ(stored(first).results.size(), 2U);
  EXPECT_EQ(stored(second).results.size(), 1U);
}

TEST_F(Collect, ARunThatGrewIsOneRun) {
  std::vector<CellResult> cells = two_cells();
  cells.push_back(
      test::without_time(sample_result("onednn"), Status::crashed, "ended with signal 11"));
  const Collected first = take(make("run", {cells[0], cells[2]}));
  ordered_json resumed = environment_at(kMonday);
  resumed["ended"] = "2026-11-23T13:00:00Z";
  cells[2] = with_time(sample_result("onednn"), around(3e-3));
  const Collected grown = take(make("run", cells, resumed));
  EXPECT_EQ(grown.taken, Taken::as_grown);
  EXPECT_EQ(grown.place, first.place);
  EXPECT_EQ(grown.cells, 2U);  // one is new, and one had crashed
  EXPECT_EQ(grown.known, 1U);
  const record::ResultsFolder read = stored(grown);
  EXPECT_EQ(read.results.size(), 3U);
  EXPECT_TRUE(read.notes.empty());
  for (const CellResult& result : read.results) EXPECT_TRUE(result.has_time()) << result.cell.id;
  EXPECT_EQ(text_at(read.environment, "/ended"), "2026-11-23T13:00:00Z");
  // An older copy of it takes nothing away.
  EXPECT_EQ(take(make("old", {cells[0]})).taken, Taken::nothing);
  EXPECT_EQ(stored(grown).results.size(), 3U);
}

// Two measurements of a cell cannot be in one run, whatever its time says.
TEST_F(Collect, WhatContradictsARunIsAnother) {
  const Collected first = take(make("run", two_cells()));
  const Collected other = take(make("forged", {with_time(sample_result("tbb"), around(9e-3))}));
  EXPECT_EQ(other.taken, Taken::as_new);
  EXPECT_NE(other.place, first.place);
  EXPECT_EQ(stored(first).results.size(), 2U);
}

// Or a version would be compared with itself, and show no noise at all.
TEST_F(Collect, AMeasurementCountsOnce) {
  std::vector<CellResult> cells = two_cells();
  take(make("run", cells));
  EXPECT_EQ(take(make("copy", cells, environment_at(kFriday))).taken, Taken::nothing);
  cells.push_back(with_time(sample_result("onednn"), around(3e-3)));
  const Collected merged = take(make("merged", cells, environment_at(kFriday)));
  EXPECT_EQ(merged.cells, 1U);
  EXPECT_EQ(merged.known, 2U);
  ASSERT_EQ(stored(merged).results.size(), 1U);
  EXPECT_EQ(stored(merged).results[0].cell.backend, "onednn");
}

TEST_F(Collect, KeepsTheNoiseFloorOfTheRun) {
  std::vector<CellResult> cells = two_cells();
  cells[0].again = record::Again{1.07, around(1.07e-3), {}, cells[0].time.processes};
  const Collected one = take(make("run", cells));
  EXPECT_NEAR(one.noise_floor, 0.07, 1e-9);
  // It does not change with the cells that somebody takes out.
  write("store" / one.place / "results.jsonl", test::lines_of({cells[1]}));
  EXPECT_NEAR(judge::recorded_noise_floor(stored(one)), 0.07, 1e-9);
  const Collected unknown = take(make("quiet", two_cells(), environment_at(kFriday, "def456")));
  EXPECT_EQ(unknown.noise_floor, 0);
  EXPECT_TRUE(value_at(stored(unknown).environment, "/noise").is_null());
}

TEST_F(Collect, WhatNobodyVerifiedStaysWithoutATime) {
  CellResult wrong = with_time(sample_result("tbb"), around(1e-6));
  wrong.error->nrmse = 0.5;
  wrong.error->limits.nrmse = 1e300;
  CellResult unchecked = with_time(sample_result("xsimd"), around(1e-6));
  unchecked.checked_rows = 0;
  CellResult forged = with_time(sample_result("onednn"), around(1e-3));
  forged.time.median = 1e-6;
  CellResult impossible = with_time(sample_result("autovec"), around(1e-3));
  impossible.peak_fraction = 40;
  const Collected one = take(make("run", {wrong, unchecked, forged, impossible, two_cells()[1],
                                          with_time(sample_result("naive"), around(5e-3))}));
  EXPECT_EQ(one.timed, 2U);  // naive, and xsimd, of which the later line counts
  const record::ResultsFolder read = stored(one);
  ASSERT_EQ(read.results.size(), 5U);
  std::map<std::string, std::string> reasons;
  for (const CellResult& result : read.results) {
    if (!result.has_time()) reasons[result.cell.backend] = result.reason;
  }
  EXPECT_NE(reasons["tbb"].find("its nrmse is 0.5; 5e-06 is allowed"), std::string::npos);
  EXPECT_NE(reasons["onednn"].find("that of its samples"), std::string::npos);
  EXPECT_NE(reasons["autovec"].find("impossible time"), std::string::npos);
}

TEST_F(Collect, OfUncheckedCellsNoneHasATime) {
  CellResult unchecked = with_time(sample_result("xsimd"), around(1e-6));
  unchecked.checked_rows = 0;
  const Collected one = take(make("run", {unchecked}));
  EXPECT_EQ(one.timed, 0U);
  EXPECT_NE(stored(one).results[0].reason.find("none of its 4 rows was checked"),
            std::string::npos);
}

TEST_F(Collect, PeersStayPeers) {
  const Collected one = take(make("run", test::cells_with_peers(), test::environment_with_peers()));
  const record::ResultsFolder read = stored(one);
  EXPECT_EQ(read.results.size(), test::cells_with_peers().size());
  for (const CellResult& result : read.results) {
    const bool ours = result.cell.backend == "tbb" || result.cell.backend == "xsimd";
    EXPECT_NE(result.peer, ours) << result.cell.id;
  }
}

TEST_F(Collect, PeersCanStayBehind) {
  const fs::path run = make("run", test::cells_with_peers(), test::environment_with_peers());
  CollectSettings settings;
  settings.peers = false;
  const Collected one = collect({run}, store_, settings).front();
  const record::ResultsFolder read = stored(one);
  EXPECT_EQ(read.results.size(), 4U);
  for (const CellResult& result : read.results) EXPECT_FALSE(result.peer) << result.cell.id;
  EXPECT_EQ(take(run).taken, Taken::as_grown);
  for (const CellResult& result : stored(one).results) {
    const bool ours = result.cell.backend == "tbb" || result.cell.backend == "xsimd";
    EXPECT_NE(result.peer, ours) << result.cell.id;
  }
}

TEST_F(Collect, OnlySaysWhatItWouldDo) {
  const fs::path run = make("run", two_cells());
  CollectSettings dry;
  dry.dry_run = true;
  const std::vector<Collected> all = collect({run, run}, store_, dry);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].taken, Taken::as_new);
  EXPECT_EQ(all[1].taken, Taken::nothing);
  EXPECT_FALSE(fs::exists(store_));
}

TEST_F(Collect, OneBrokenFolderLeavesTheStoreAsItWas) {
  const fs::path run = make("run", two_cells());
  write("broken/environment.json", test::sample_environment().dump());
  write("broken/results.jsonl", "{\"id\": \n{}\n");
  EXPECT_THROW(collect({run, path_ / "broken"}, store_, {}), FileError);
  EXPECT_TRUE(files().empty());
  EXPECT_THROW(collect({path_ / "missing"}, store_, {}), FileError);
  EXPECT_THROW(collect({run}, run, {}), InvalidArgument);
  EXPECT_THROW(collect({run}, run / "results.jsonl", {}), std::exception);
}

// A limit of a file's size stands for a full disk.
TEST_F(Collect, AFullDiskLeavesTheStoreAsItWas) {
  take(make("first", two_cells()));
  std::vector<CellResult> cells = two_cells();
  cells.push_back(with_time(sample_result("onednn"), around(3e-3)));
  const fs::path grown = make("grown", cells);
  const fs::path other = make("other", two_cells(), environment_at(kFriday, "def456"));
  const auto before = files();
  for (const fs::path& run : {grown, other}) {
    const std::string outcome = test::in_child([&]() -> std::string {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit tight{1500, 1500};
      if (setrlimit(RLIMIT_FSIZE, &tight) != 0) return "cannot limit";
      try {
        take(run);
      } catch (const ResourceError& error) {
        return error.what();
      }
      return "taken";
    });
    EXPECT_NE(outcome.find("cannot write"), std::string::npos) << outcome;
    EXPECT_EQ(files(), before);
  }
  EXPECT_EQ(take(grown).taken, Taken::as_grown);
  EXPECT_EQ(take(other).taken, Taken::as_new);
}

// What a killed process left half done is no run, and the next one throws it away.
TEST_F(Collect, WhatAKilledProcessLeftIsThrownAway) {
  write("store/.collecting/run/results.jsonl", "half a li");
  write("store/.collecting/run/environment.json", "{}");
  write("store/.collecting/run/.results.jsonl.Ab12Cd", "half a li");
  const Collected one = take(make("run", two_cells()));
  EXPECT_EQ(runs_in(store_), std::vector{store_ / one.place});
  EXPECT_EQ(stored(one).results.size(), 2U);
  EXPECT_FALSE(fs::exists(store_ / ".collecting" / "run"));
  EXPECT_EQ(files().size(), 2U);
}

// Killed between its two files, a run that grew is whole again after the next call.
TEST_F(Collect, AHalfReplacedRunIsCompleted) {
  const Collected first = take(make("run", two_cells()));
  std::vector<CellResult> cells = two_cells();
  cells.push_back(with_time(sample_result("onednn"), around(3e-3)));
  ordered_json later = environment_at(kMonday);
  later["ended"] = "2026-11-23T13:00:00Z";
  write("store" / first.place / "environment.json", later.dump());
  EXPECT_EQ(stored(first).results.size(), 2U);
  EXPECT_EQ(take(make("run", cells, later)).taken, Taken::as_grown);
  EXPECT_EQ(stored(first).results.size(), 3U);
}

TEST_F(Collect, OneProcessAtATime) {
  take(make("run", two_cells()));
  const record::FolderLock held(store_ / ".collecting");
  const std::string outcome = test::in_child([&]() -> std::string {
    try {
      take(make("other", two_cells(), environment_at(kFriday)));
    } catch (const ResourceError& error) {
      return error.what();
    }
    return "taken";
  });
  EXPECT_NE(outcome.find("is being written by process " + std::to_string(getpid())),
            std::string::npos)
      << outcome;
  EXPECT_NE(outcome.find("--into"), std::string::npos) << outcome;
}

// A store comes from others as well: a link in it must not lead out of it.
TEST_F(Collect, FollowsNoLinkOutOfTheStore) {
  const Collected first = take(make("run", two_cells()));
  const fs::path machine = first.place.parent_path();
  fs::remove_all(store_ / machine);
  fs::create_directory(path_ / "elsewhere");
  fs::create_directory_symlink(path_ / "elsewhere", store_ / machine);
  EXPECT_THROW(take(path_ / "run"), ResourceError);
  EXPECT_TRUE(fs::is_empty(path_ / "elsewhere"));
}

TEST_F(Collect, AFolderThatSomebodyRenamedIsFound) {
  const Collected first = take(make("run", two_cells()));
  fs::rename(store_ / first.place.parent_path(), store_ / "laptop");
  EXPECT_EQ(take(path_ / "run").taken, Taken::nothing);
  const Collected next = take(make("next", two_cells(), environment_at(kFriday, "def456")));
  EXPECT_EQ(next.known, 0U);
  EXPECT_EQ(next.place, fs::path("laptop/0.1.0-def456"));
}

}  // namespace
}  // namespace headroom::store::collect_test
