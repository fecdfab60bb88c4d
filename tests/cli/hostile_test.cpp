// Folders and files from a stranger, whose texts a terminal would obey: the real program shows them
// as text, on standard output, on standard error and in every file that it writes.
#include "support/hostile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/safetensors_text.hpp"
#include "support/sample_peers.hpp"

namespace headroom::test::hostile_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// What the reader checks against a list stays, or the folder would be refused at once.
bool is_checked(const std::string& key) {
  for (const char* checked : {"schema", "status", "formulation", "dtype", "precision", "cache",
                              "backend", "kernel", "pairs", "source", "fingerprint"}) {
    if (key == checked) return true;
  }
  return false;
}

// Every text, however deep, but for those that are checked.
void make_all_hostile(ordered_json& json) {
  if (json.is_string()) json = kHostile;
  if (!json.is_structured()) return;
  for (const auto& item : json.items()) {
    if (!json.is_object() || !is_checked(item.key())) make_all_hostile(item.value());
  }
}

class CliHostile : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sample_folder(path_ / "plain", cells_with_peers(), environment_with_peers());
    ordered_json environment = environment_with_peers();
    environment["warnings"] = {"w"};
    make_all_hostile(environment);
    environment["peers"][kHostile] = {{"version", kHostile}};
    std::string lines;
    for (const record::CellResult& result : cells_with_peers()) {
      ordered_json line = to_json(result);
      const ordered_json id = line["id"];
      make_all_hostile(line);
      line["id"] = id.get<std::string>() + kHostile;
      line["warnings"] = {kHostile};
      lines += line.dump() + "\n";
    }
    write("hostile/environment.json", environment.dump());
    write("hostile/results.jsonl", lines);
  }

  // Runs it and looks at all that it printed.
  Outcome expect_shown(const std::string& line, int code) const {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, code) << line << "\n" << outcome.errors;
    EXPECT_EQ(obeyed(outcome.output), "") << line;
    EXPECT_EQ(obeyed(outcome.errors), "") << line;
    return outcome;
  }

  void expect_files_shown(const std::string& folder) const {
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path_ / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read_all(entry.path());
      const bool markup = entry.path().extension() != ".csv" &&
                          entry.path().extension() != ".jsonl" &&
                          entry.path().extension() != ".json";
      EXPECT_EQ(markup ? rendered(text) : obeyed(text), "") << entry.path().filename();
      ++files;
    }
    EXPECT_GT(files, 0U) << folder;
  }
};

TEST_F(CliHostile, CompareShowsIt) {
  write_sample_folder(path_ / "same", cells_with_peers());
  EXPECT_NE(expect_shown("$headroom compare hostile hostile", 0).output.find("\\u001b[31m"),
            std::string::npos);
  EXPECT_TRUE(
      ordered_json::accept(expect_shown("$headroom compare hostile hostile --json", 0).output));
  expect_shown("$headroom compare plain hostile", 2);
}

TEST_F(CliHostile, PickShowsIt) {
  for (const char* emit : {"text", "cmake", "json"}) {
    expect_shown(
        std::string("$headroom pick --from hostile --heads 2 --head-dim 4 --tokens 4 --emit ") +
            emit,
        0);
  }
  expect_shown("$headroom pick --from hostile --heads 96", 2);
  expect_shown("$headroom pick --from hostile --without tbb,xsimd,steady,rapid", 2);
}

TEST_F(CliHostile, AReportShowsIt) {
  expect_shown("$headroom report hostile --out report", 0);
  expect_files_shown("report");
}

TEST_F(CliHostile, ExportsShowIt) {
  for (const char* format : {"csv", "gbench", "bmf"}) {
    expect_shown(std::string("$headroom export hostile --to ") + format, 0);
    expect_shown(std::string("$headroom export hostile --output exports/e.json --to ") + format, 4);
    expect_shown(
        std::string("mkdir -p exports; $headroom export hostile --output exports/e.json --to ") +
            format,
        0);
    expect_files_shown("exports");
    fs::remove_all(path_ / "exports");
  }
}

TEST_F(CliHostile, MergedFoldersShowIt) {
  fs::copy(path_ / "hostile", path_ / "other", fs::copy_options::recursive);
  expect_shown("$headroom merge hostile other --out merged", 2);
  expect_shown("$headroom merge hostile --out merged", 0);
  expect_files_shown("merged");
  expect_shown("$headroom merge plain hostile --out both", 2);
}

TEST_F(CliHostile, ASweepThatGoesOnShowsIt) {
  const std::string sweep =
      "$headroom sweep --backend naive --heads 2 --head-dim 4 --tokens 3 --repetitions 3 "
      "--min-time 0.0001 --resume --out ";
  expect_shown(sweep + "hostile", 2);
  expect_shown(sweep + "swept", 0);
  // Of three cells the last is missing, so that both files are written anew.
  const std::string text = read_all(path_ / "swept/environment.json");
  ordered_json environment = ordered_json::parse(text);
  environment["warnings"] = {kHostile};
  write("swept/environment.json", environment.dump());
  std::string lines = read_all(path_ / "swept/results.jsonl");
  ordered_json line = ordered_json::parse(lines.substr(0, lines.find('\n')));
  line["isa"] = kHostile;
  write("swept/results.jsonl", line.dump() + "\n");
  expect_shown(sweep + "swept", 0);
  expect_files_shown("swept");
}

TEST_F(CliHostile, WhatItReadsFromTheEnvironmentIsShown) {
  for (const char* variable : {"HEADROOM_ISA", "HEADROOM_UNIT", "HEADROOM_TUNING", "OMP_PLACES"}) {
    const std::string line = std::string("export ") + variable + "=$(printf \"x\\e[31m\\n" +
                             "FORGED\\u202e\\u009b\"); $headroom info";
    const Outcome outcome = run(line);
    EXPECT_EQ(obeyed(outcome.output + outcome.errors), "") << variable;
  }
}

TEST_F(CliHostile, NamesOfTensorsAreShown) {
  SafetensorsText text;
  const std::vector<float> values(64, 0.5F);
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    text.add("layers.0" + kHostile + ".self_attn." + name + ".weight", {8, 8}, values);
  }
  text.add(kHostile, {8, 8}, values);
  write("w.safetensors", text.text());
  const Outcome list = expect_shown("$headroom run --weights w.safetensors --list", 0);
  EXPECT_NE(list.output.find("=1+1\\u001b[31m"), std::string::npos) << list.output;
  EXPECT_TRUE(ordered_json::accept(
      expect_shown("$headroom run --weights w.safetensors --list --json", 0).output));
  for (const char* options : {"--heads 2", "--heads 2 --layer 1", "--heads 2 --tensor q=nothing",
                              "--heads 2 --tokens 3 --check"}) {
    const Outcome outcome = run(std::string("$headroom run --weights w.safetensors ") + options);
    EXPECT_EQ(obeyed(outcome.output), "") << options;
    EXPECT_EQ(obeyed(outcome.errors), "") << options;
  }
}

// The path itself, in every error of a file and in what a command says at its end.
TEST_F(CliHostile, PathsAreShown) {
  const std::string name = "b\x1b[31m\a\u009b\u202e\nFORGED\xff";
  write("name", name + "/");
  const std::string there = "there=$(cat name); ";
  for (const std::string command :
       {"compare \"$there\" plain", "compare plain \"$there\"", "report \"$there\"",
        "pick --from \"$there\"", "export \"$there\" --to csv", "merge \"$there\" --out m",
        "run --weights \"$there\" --list", "run --weights \"$there/x.npy\"",
        "explain --input \"$there\"", "explain split --heads \"$there\""}) {
    const Outcome outcome = run(there + "$headroom " + command);
    EXPECT_GE(outcome.code, 2) << command;
    EXPECT_EQ(obeyed(outcome.output + outcome.errors), "") << command;
  }
  expect_shown(there + "cp -r plain \"$there\"; $headroom compare \"$there\" \"$there\"", 0);
  expect_shown(there + "$headroom report \"$there\"", 0);
  expect_shown(there + "$headroom merge plain --out \"$there/merged\"", 0);
  expect_shown(there +
                   "$headroom pick --from plain --heads 2 --head-dim 4 --tokens 4 --output "
                   "\"$there/no/file\"",
               4);
  expect_shown(there + "echo x >\"$there/results.jsonl\"; $headroom compare plain \"$there\"", 3);
  expect_shown(there + "echo { >\"$there/environment.json\"; $headroom report \"$there\"", 3);
  expect_shown(there + "HEADROOM_TUNING=\"$there/environment.json\" $headroom info", 0);
  expect_shown(there + "$headroom \"$there\"", 2);
  expect_shown(there + "$headroom compare \"--$there\"", 2);
}

}  // namespace
}  // namespace headroom::test::hostile_test
