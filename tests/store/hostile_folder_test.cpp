// Folders from a stranger: nothing of theirs that is valid is lost, and nothing else gets in.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "program/exit_code.hpp"
#include "record/results_folder.hpp"
#include "store/cleaned.hpp"
#include "store/collect.hpp"
#include "store/runs.hpp"
#include "support/hostile.hpp"
#include "support/sample_peers.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::store::hostile_folder_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using record::CellResult;

class HostileFolder : public test::TemporaryFolder {
 protected:
  CleanRun clean(const ordered_json& environment, const std::string& lines) const {
    write("folder/environment.json", environment.dump());
    write("folder/results.jsonl", lines);
    return cleaned(record::read_results_folder(path_ / "folder"), {});
  }
};

std::set<std::string> ids_of(const CleanRun& run) {
  std::set<std::string> ids;
  for (const CellResult& result : run.results) ids.insert(result.cell.id);
  return ids;
}

ordered_json whole_environment() {
  ordered_json environment = test::environment_with_peers();
  environment["warnings"] = {"the load is high"};
  environment["conditions"] = {{"governor", "performance"}, {"variables", {{"OMP_X", "1"}}}};
  environment["resumed"] = {{{"time", "2026-01-31T12:00:00Z"}, {"warnings", {"w"}}}};
  return environment;
}

std::vector<CellResult> whole_cells() {
  std::vector<CellResult> cells = test::cells_with_peers();
  cells.front().cell.warnings = {"more threads than cores"};
  return cells;
}

// Every text and every key of an environment, each replaced in turn.
TEST_F(HostileFolder, NoTextOfAnEnvironmentGetsThrough) {
  std::vector<test::HostilePlace> places;
  test::add_places(whole_environment(), ordered_json::json_pointer(), places);
  const std::string lines = test::lines_of(whole_cells());
  const std::set<std::string> all = ids_of(clean(whole_environment(), lines));
  ASSERT_EQ(all.size(), whole_cells().size());
  for (const test::HostilePlace& where : places) {
    if (where.place.to_string() == "/schema") continue;  // refused as a whole
    const CleanRun run = clean(test::made_hostile(whole_environment(), where), lines);
    const std::string text = run.environment.dump(2);
    EXPECT_EQ(test::rendered(text), "") << where.place.to_string();
    for (const std::string& name : {run.origin.machine, run.origin.version}) {
      EXPECT_EQ(name.find_first_of("/<>$`\n"), std::string::npos) << name;
    }
    EXPECT_EQ(ids_of(run), all) << where.place.to_string();
  }
}

TEST_F(HostileFolder, NoTextOfALineGetsThroughAndNoCellIsLost) {
  ordered_json line = to_json(whole_cells().front());
  std::vector<test::HostilePlace> places;
  test::add_places(line, ordered_json::json_pointer(), places);
  std::size_t read = 0;
  for (const test::HostilePlace& where : places) {
    CleanRun run;
    try {
      run = clean(whole_environment(), test::made_hostile(line, where).dump() + "\n");
    } catch (const FileError&) {
      continue;  // what the reader checks
    }
    ++read;
    EXPECT_EQ(test::obeyed(run.lines()), "") << where.place.to_string();
    EXPECT_EQ(run.lines().find("alert(1)"), std::string::npos) << where.place.to_string();
    const bool of_backend = where.place.to_string() == "/backend";
    EXPECT_EQ(run.results.size(), of_backend ? 0U : 1U) << where.place.to_string();
  }
  EXPECT_GT(read, 8U);
}

TEST_F(HostileFolder, UnknownFieldsOfALineGo) {
  ordered_json line = to_json(whole_cells().front());
  line["host"] = "node7";
  line["shape"]["owner"] = "ann";
  line["time_s"]["file"] = "/home/ann/x";
  const std::string text = clean(whole_environment(), line.dump() + "\n").lines();
  for (const char* part : {"node7", "ann", "owner", "host"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text, to_json(whole_cells().front()).dump() + "\n");
}

// The name says what was measured, whoever wrote another.
TEST_F(HostileFolder, ACellIsNamedAfterWhatWasMeasured) {
  ordered_json line = to_json(whole_cells().front());
  const std::string own = line["id"];
  line["id"] = "fused/onednn/f32/t1/B1_T4_D8_H2";
  const CleanRun run = clean(whole_environment(), line.dump() + "\n");
  EXPECT_EQ(ids_of(run), std::set{own});
  EXPECT_FALSE(run.notes.empty());
  line["id"] = "fused/tbb.far.rows8/f32/t1/B1_T4_D8_H2";  // a variant of the kernels stays
  EXPECT_EQ(ids_of(clean(whole_environment(), line.dump() + "\n")),
            std::set<std::string>{"fused/tbb.far.rows8/f32/t1/B1_T4_D8_H2"});
}

TEST_F(HostileFolder, NamesThatItGivesAwayGoEverywhere) {
  ordered_json environment = whole_environment();
  environment["conditions"]["node"] = "bigbox";
  environment["sweep"]["weights"] = {{"file", "/home/zelda/models/topsecret.gguf"}};
  environment["warnings"] = {"zelda ran topsecret on bigbox"};
  std::vector<CellResult> cells = whole_cells();
  cells.front().cell.warnings = {"bigbox is busy with topsecret.gguf"};
  const CleanRun run = clean(environment, test::lines_of(cells));
  const std::string text = run.environment.dump() + run.lines();
  for (const char* part : {"bigbox", "zelda", "topsecret"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
}

// The parser copies what stands in an object of several keys, with a call for each level.
TEST_F(HostileFolder, WhatIsNestedForEverIsRefused) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  const std::string environment = whole_environment().dump();
  const std::string lines = test::lines_of(whole_cells());
  const auto with = [&](const std::string& json) {
    return json.substr(0, json.size() - 1) + R"(, "x": )" + deep + R"(, "y": 1, "z": 2})";
  };
  write("deep/environment.json", with(environment));
  write("deep/results.jsonl", lines);
  EXPECT_THROW(collect({path_ / "deep"}, path_ / "store", {}), FileError);
  write("deep/environment.json", environment);
  write("deep/results.jsonl", with(to_json(whole_cells().front()).dump()) + "\n" + lines);
  EXPECT_THROW(collect({path_ / "deep"}, path_ / "store", {}), FileError);
  write("deep/results.jsonl", lines);  // brackets within a text nest nothing
  ordered_json brackets = whole_environment();
  brackets["warnings"] = {std::string(500, '[') + "\\\"" + std::string(500, '{')};
  write("deep/environment.json", brackets.dump());
  EXPECT_NO_THROW(collect({path_ / "deep"}, path_ / "store", {}));
}

TEST_F(HostileFolder, FilesThatAreNoneAreRefused) {
  test::write_sample_folder(path_ / "good", whole_cells(), whole_environment());
  for (const char* name : {"environment.json", "results.jsonl"}) {
    const fs::path folder = path_ / "bad" / name;
    fs::create_directories(folder);
    fs::copy(path_ / "good", folder, fs::copy_options::recursive);
    fs::remove(folder / name);
    fs::create_directory(folder / name);
    EXPECT_THROW(collect({folder}, path_ / "store", {}), FileError) << name;
  }
  EXPECT_TRUE(stored_runs(path_ / "store").empty());
}

}  // namespace
}  // namespace headroom::store::hostile_folder_test
