// A results folder from a stranger: whatever its texts and keys are, nothing of them is obeyed by
// the terminal, the browser or the spreadsheet that shows what is made of it.
#include "support/hostile.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "pick/pick.hpp"
#include "program/exit_code.hpp"
#include "record/environment.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/facts.hpp"
#include "show/comparison_table.hpp"
#include "show/export.hpp"
#include "show/results_table.hpp"
#include "support/sample_peers.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::hostile_test {
namespace {

using nlohmann::ordered_json;
using test::HostilePlace;
using test::obeyed;
using test::rendered;

// All that a sweep and scripts/peers record, with what only some machines have.
ordered_json environment() {
  ordered_json all = record::describe_environment(select_target());
  all["sweep"] = {{"cells", 12},
                  {"repetitions_asked", 9},
                  {"processes", 8},
                  {"min_time_s", 0.03},
                  {"seed", 1},
                  {"cache", "warm"},
                  {"weights", {{"file", "w.npy"}, {"layer", "h.0"}, {"fingerprint", "00"}}},
                  {"identity",
                   {{"axes", {{"heads", "2"}, {"ranks", "1,2"}, {"tensor", {"q=a"}}}},
                    {"cells", 12},
                    {"fingerprint", "00"},
                    {"shard", nullptr}}}};
  all["peers"] = test::environment_with_peers()["peers"];
  all["conditions"]["governor"] = "powersave";
  all["conditions"]["variables"] = {{"OMP_PROC_BIND", "close"}};
  all["peaks"] = {{"isa", "avx2"}, {"fma_gflops_by_threads", {{"1", 90.0}, {"2", 170.0}}}};
  all["warnings"] = {"the machine was busy"};
  all["resumed"] = {{{"time", "2026-01-31"}, {"warnings", {"it was resumed"}}}};
  all["merged_from"] = {{{"shard", {{"index", 1}, {"of", 2}}}, {"warnings", {"a part"}}}};
  return all;
}

std::vector<ordered_json> lines() {
  std::vector<record::CellResult> results = test::cells_with_peers();
  results.front().cell.warnings = {"the time is doubtful"};
  results.front().control = record::Control{};
  results.front().control->isa = "avx2";
  results.front().control->gflops = std::vector<double>(results.front().time.samples.size(), 80.0);
  record::CellResult chosen = test::cell_of("auto", Formulation::fused, 4, 1, test::around(1e-3));
  chosen.choice = Choice{};
  chosen.choice->backend = "tbb";
  chosen.choice->reason = "the rule says so";
  results.push_back(std::move(chosen));
  results.push_back(test::without_time(test::sample_result("onednn"), record::Status::unsupported,
                                       "no such width"));
  std::vector<ordered_json> all;
  for (const record::CellResult& result : results) all.push_back(record::to_json(result));
  return all;
}

class Hostile : public test::TemporaryFolder {
 protected:
  void SetUp() override {
    test::TemporaryFolder::SetUp();
    write_folder("plain", environment(), lines());
    plain_ = record::read_results_folder(path_ / "plain");
  }

  void write_folder(const std::string& name, const ordered_json& environment,
                    const std::vector<ordered_json>& lines) const {
    std::string text;
    for (const ordered_json& line : lines) text += line.dump() + "\n";
    write(name + "/environment.json", environment.dump());
    write(name + "/results.jsonl", text);
  }

  // An error is an answer as well, if it is fit to be shown.
  static void expect_shown(const char* what, const std::function<std::string()>& make,
                           std::string (*fault)(std::string_view) = obeyed) {
    try {
      EXPECT_EQ(fault(make()), "") << what;
    } catch (const std::exception& error) {
      EXPECT_EQ(obeyed(error.what()), "") << what;
    }
  }

  void expect_all_shown() const {
    record::ResultsFolder folder;
    try {
      folder = record::read_results_folder(path_ / "hostile");
    } catch (const FileError& error) {
      EXPECT_EQ(obeyed(error.what()), "");
      return;
    }
    for (const std::string& note : folder.notes) EXPECT_EQ(obeyed(note), "");
    expect_report_shown(folder);
    for (const auto format :
         {show::ExportFormat::gbench, show::ExportFormat::csv, show::ExportFormat::bmf}) {
      expect_shown("export", [&] { return show::export_results(folder, format); });
    }
    expect_shown("table", [&] { return show::results_table(folder.results, {}); });
    expect_comparison_shown(plain_, folder);
    expect_comparison_shown(folder, plain_);
    expect_shown("pick", [&] {
      const pick::Pick choice = pick::pick(folder, {}, {});
      return pick::to_text(choice) + pick::to_cmake(choice) + pick::to_json(choice) +
             pick::other_machine(folder);
    });
  }

  static void expect_comparison_shown(const record::ResultsFolder& base,
                                      const record::ResultsFolder& next) {
    expect_shown("compare", [&] {
      const judge::FolderComparison found = judge::compare_folders(base, next, {});
      std::string text = show::comparison_table(found);
      for (const std::string& warning : found.warnings) text += warning + " ";
      return text + show::to_json(found).dump(2);
    });
  }

  static void expect_report_shown(const record::ResultsFolder& folder) {
    try {
      const report::Findings findings = report::find_out(folder);
      const report::Conclusion conclusion = report::conclude(findings);
      const std::string data = report::page_data(findings);
      EXPECT_EQ(obeyed(data), "");
      EXPECT_EQ(rendered(report::markdown_report(findings, conclusion, {{}, "no node"})), "");
      EXPECT_EQ(rendered(report::page(findings, conclusion, data)), "");
    } catch (const std::exception& error) {
      EXPECT_EQ(obeyed(error.what()), "");
    }
  }

  record::ResultsFolder plain_;
};

TEST_F(Hostile, EveryTextAndKeyOfAnEnvironmentIsShown) {
  const ordered_json all = environment();
  std::vector<HostilePlace> places;
  test::add_places(all, ordered_json::json_pointer(), places);
  ASSERT_GT(places.size(), 100U);
  for (const HostilePlace& where : places) {
    SCOPED_TRACE(where.place.to_string() + (where.key ? " (key)" : ""));
    write_folder("hostile", made_hostile(all, where), lines());
    expect_all_shown();
  }
}

TEST_F(Hostile, EveryTextAndKeyOfALineIsShown) {
  const std::vector<ordered_json> all = lines();
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<HostilePlace> places;
    test::add_places(all[i], ordered_json::json_pointer(), places);
    count += places.size();
    for (const HostilePlace& where : places) {
      SCOPED_TRACE(all[i]["id"].get<std::string>() + " " + where.place.to_string() +
                   (where.key ? " (key)" : ""));
      std::vector<ordered_json> changed = all;
      changed[i] = made_hostile(all[i], where);
      write_folder("hostile", environment(), changed);
      expect_all_shown();
    }
  }
  EXPECT_GT(count, 300U);
}

TEST_F(Hostile, LinesOfTheFolderAreFitForAnother) {
  std::vector<ordered_json> all = lines();
  all[0]["isa"] = test::kHostile;
  write_folder("hostile", environment(), all);
  const record::ResultsFolder folder = record::read_results_folder(path_ / "hostile");
  EXPECT_EQ(obeyed(folder.lines[0]), "");
  EXPECT_EQ(ordered_json::parse(folder.lines[0])["isa"], folder.results[0].isa);
  EXPECT_EQ(folder.lines[1], all[1].dump());
}

// The path of the folder itself, in every way in which it can be wrong.
TEST_F(Hostile, ErrorsOfAFolderShowItsPath) {
  const std::string name = "f\x1b[31m\a\u009b\u202e\nFORGED\xff";
  const auto expect_error = [&](const char* what) {
    try {
      record::read_results_folder(path_ / name);
      ADD_FAILURE() << what << ": no error";
    } catch (const FileError& error) {
      EXPECT_EQ(obeyed(error.what()), "") << what;
      EXPECT_NE(std::string(error.what()).find("f\\u001b[31m\\u0007\\u009b\\u202e\\nFORGED\\xff"),
                std::string::npos)
          << error.what();
    }
  };
  expect_error("missing");
  write(name + "/environment.json", "{");
  expect_error("no results");
  write(name + "/results.jsonl", "");
  expect_error("no JSON");
  write(name + "/environment.json", "{}");
  expect_error("another schema");
  write(name + "/environment.json", environment().dump());
  expect_error("no cell");
  write(name + "/results.jsonl", "{}\n{}\n");
  expect_error("no line");
  write(name + "/results.jsonl", lines().front().dump() + "\n{");
  const record::ResultsFolder torn = record::read_results_folder(path_ / name);
  ASSERT_EQ(torn.notes.size(), 1U);
  EXPECT_EQ(obeyed(torn.notes.front()), "");
  EXPECT_EQ(obeyed(show::comparison_table(judge::compare_folders(torn, torn, {}))), "");
}

TEST_F(Hostile, NothingPickedIsWrittenIntoCMakeButANameCouldBe) {
  std::vector<ordered_json> all = lines();
  all[0]["backend"] = "tbb\") # ";
  write_folder("hostile", environment(), all);
  const record::ResultsFolder folder = record::read_results_folder(path_ / "hostile");
  EXPECT_THROW(pick::pick(folder, {}, {}), FileError);
}

TEST_F(Hostile, NoCellOfATableIsAFormula) {
  for (const char* formula : {"=1+1", "+1+1", "-1+1", "@SUM(A1)"}) {
    std::vector<ordered_json> all = lines();
    all.back()["reason"] = formula;
    write_folder("hostile", environment(), all);
    const std::string table = show::export_csv(record::read_results_folder(path_ / "hostile"));
    EXPECT_EQ(table.find(std::string(",") + formula), std::string::npos) << formula;
    EXPECT_NE(table.find(std::string(",'") + formula + ","), std::string::npos) << formula;
  }
}

}  // namespace
}  // namespace headroom::hostile_test
