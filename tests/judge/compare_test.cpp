#include "judge/compare.hpp"

#include <gtest/gtest.h>

#include "headroom/error.hpp"
#include "judge/environment_differences.hpp"
#include "program/exit_code.hpp"
#include "show/comparison_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::compare_test {
namespace {

using nlohmann::ordered_json;
using test::sample_folder;
using test::sample_result;
using test::with_time;
using test::without_time;

std::vector<double> times(double factor) {
  std::vector<double> samples;
  for (const double sample : {1.000, 1.004, 0.997, 1.002, 0.999, 1.006, 1.001, 0.998, 1.003}) {
    samples.push_back(1e-3 * factor * sample);
  }
  return samples;
}

record::CellResult timed(const std::string& backend, double factor) {
  return with_time(sample_result(backend), times(factor));
}

record::CellResult broken(const std::string& backend, record::Status status) {
  return without_time(sample_result(backend), status, "because of " + backend);
}

const ComparedCell& cell_of(const FolderComparison& comparison, const std::string& backend) {
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.id().find("/" + backend + "/") != std::string::npos) return cell;
  }
  throw std::logic_error("no cell of " + backend);
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// Only naive is part of this program; the facts of others are the defaults.
TEST(Compare, WhatNobodyWouldLinkDoesNotGate) {
  const auto base = sample_folder("base", {timed("naive", 1), timed("tbb", 1)});
  const auto next = sample_folder("new", {timed("naive", 1.16), timed("tbb", 1)});
  FolderComparison comparison = compare_folders(base, next, {});
  EXPECT_EQ(comparison.regressions(), 1U);
  EXPECT_EQ(comparison.gating(), 0U);
  EXPECT_EQ(comparison.compared_in_gate(), 1U);
  const std::string table = show::comparison_table(comparison);
  EXPECT_NE(table.find("slower, does not gate\n"), std::string::npos) << table;
  EXPECT_NE(table.find("1 regression\n0 of them gate; 1 of backends that nobody would link (--gate "
                       "all counts them), 0 not seen again\n"),
            std::string::npos)
      << table;
  comparison.gate = Gate::all;
  EXPECT_EQ(comparison.gating(), 1U);
  EXPECT_EQ(comparison.compared_in_gate(), 2U);
}

TEST(Compare, ARegressionThatIsNotSeenAgainDoesNotGate) {
  const auto base = sample_folder("base", {timed("xsimd", 1), timed("tbb", 1), timed("onednn", 1)});
  const auto next =
      sample_folder("new", {timed("xsimd", 1), timed("tbb", 1.1), timed("onednn", 1.2)});
  FolderComparison comparison = compare_folders(base, next, {});
  EXPECT_EQ(comparison.gating(), 2U);
  ASSERT_EQ(comparison.to_measure_again().size(), 2U);
  EXPECT_EQ(comparison.to_measure_again()[0], cell_of(comparison, "tbb").id());

  const auto base_again = sample_folder("base", {timed("tbb", 1), timed("onednn", 1)});
  const auto next_again = sample_folder("new", {timed("tbb", 1.001), timed("onednn", 1.19)});
  add_second_run(comparison, compare_folders(base_again, next_again, {}));
  EXPECT_TRUE(cell_of(comparison, "tbb").refuted);
  EXPECT_FALSE(cell_of(comparison, "onednn").refuted);
  EXPECT_EQ(comparison.regressions(), 2U) << "what was measured first stays in the table";
  EXPECT_EQ(comparison.gating(), 1U);
  const std::string table = show::comparison_table(comparison);
  EXPECT_NE(table.find("slower, not seen again (1.001, "), std::string::npos) << table;
  EXPECT_NE(table.find("slower, seen again (1.190, "), std::string::npos) << table;
  const auto json = show::to_json(comparison);
  EXPECT_EQ(json["summary"]["gating"], 1);
  EXPECT_EQ(json["cells"][1]["gates"], false);
  EXPECT_EQ(json["cells"][1]["again"]["verdict"], "same");
  EXPECT_EQ(json["cells"][2]["gates"], true);
}

// Nothing that has no time again can clear it.
TEST(Compare, AFailureIsNotRefutedByASecondRun) {
  const auto base = sample_folder("base", {timed("tbb", 1), timed("xsimd", 1)});
  const auto next =
      sample_folder("new", {timed("tbb", 1.1), broken("xsimd", record::Status::crashed)});
  FolderComparison comparison = compare_folders(base, next, {});
  ASSERT_EQ(comparison.to_measure_again().size(), 1U) << "a crash is no noise";
  const auto crashed = sample_folder("new", {broken("tbb", record::Status::crashed)});
  add_second_run(comparison, compare_folders(base, crashed, {}));
  EXPECT_EQ(comparison.gating(), 2U);
}

TEST(Compare, WarnsOfThreadsThatHadFewerCores) {
  record::CellResult whole = timed("tbb", 1);
  whole.threads = 2;
  whole.control = record::Control{"avx2", 2, std::vector<double>(9, 190)};
  record::CellResult shared = whole;
  shared.control->gflops.assign(9, 110);
  record::ResultsFolder base = sample_folder("base", {whole});
  record::ResultsFolder next = sample_folder("next", {shared});
  const char* words =
      "1 cell had fewer cores than threads, such as split/tbb/f32/t1/B1_T4_D8_H2: "
      "2 threads ran at the rate of 1.1 cores in ";
  EXPECT_FALSE(says(compare_folders(base, next, {}).warnings, "fewer cores"));
  base.environment["peaks"]["fma_gflops_by_threads"] = {{"1", 100}};
  next.environment["peaks"] = base.environment["peaks"];
  EXPECT_TRUE(says(compare_folders(base, next, {}).warnings, std::string(words) + "NEW"));
  EXPECT_TRUE(says(compare_folders(next, base, {}).warnings, std::string(words) + "BASE"));
  EXPECT_FALSE(says(compare_folders(base, base, {}).warnings, "fewer cores"));
}

TEST(Compare, JoinsCellsByTheirNames) {
  const record::ResultsFolder base = sample_folder(
      "base", {timed("naive", 1), timed("xsimd", 1), timed("tbb", 1), timed("old", 1)});
  const record::ResultsFolder next = sample_folder(
      "next", {timed("fresh", 1), timed("tbb", 1.2), timed("xsimd", 0.8), timed("naive", 1.001)});
  const FolderComparison comparison = compare_folders(base, next, {});
  ASSERT_EQ(comparison.cells.size(), 5u);
  EXPECT_EQ(comparison.cells[0].base->cell.backend, "naive") << "the order of the base";
  EXPECT_EQ(comparison.cells[4].next->cell.backend, "fresh");
  EXPECT_EQ(cell_of(comparison, "naive").difference->verdict, Verdict::same);
  EXPECT_EQ(cell_of(comparison, "xsimd").difference->verdict, Verdict::faster);
  EXPECT_EQ(cell_of(comparison, "tbb").difference->verdict, Verdict::slower);
  EXPECT_FALSE(cell_of(comparison, "old").difference);
  EXPECT_EQ(cell_of(comparison, "old").next, nullptr);
  EXPECT_EQ(cell_of(comparison, "fresh").base, nullptr);
  EXPECT_EQ(comparison.compared(), 3u);
  EXPECT_EQ(comparison.regressions(), 1u);
  EXPECT_TRUE(cell_of(comparison, "tbb").regression());
  EXPECT_TRUE(says(comparison.warnings, "had a time in BASE but have none in NEW"));
}

TEST(Compare, CorrectsForAllCellsTogether) {
  const record::ResultsFolder base = sample_folder("base", {timed("naive", 1), timed("xsimd", 1)});
  const record::ResultsFolder next =
      sample_folder("next", {timed("naive", 1), timed("xsimd", 1.1)});
  const FolderComparison comparison = compare_folders(base, next, {});
  const Difference& difference = *cell_of(comparison, "xsimd").difference;
  EXPECT_DOUBLE_EQ(difference.corrected_p, 2 * difference.p);
}

TEST(Compare, WhatBrokeIsARegressionAndWhatWasSkippedIsNone) {
  struct Case {
    record::CellResult base, next;
    bool regression;
  };
  const Case all[] = {
      {timed("a", 1), broken("a", record::Status::failed), true},
      {timed("a", 1), broken("a", record::Status::crashed), true},
      {timed("a", 1), broken("a", record::Status::unsupported), true},
      {timed("a", 1), broken("a", record::Status::skipped), false},
      {broken("a", record::Status::skipped), broken("a", record::Status::failed), true},
      {broken("a", record::Status::crashed), broken("a", record::Status::failed), false},
      {broken("a", record::Status::failed), timed("a", 1), false},
      {broken("a", record::Status::skipped), broken("a", record::Status::unsupported), false},
  };
  for (const Case& one : all) {
    const record::ResultsFolder base = sample_folder("base", {one.base});
    const record::ResultsFolder next = sample_folder("next", {one.next});
    const FolderComparison comparison = compare_folders(base, next, {});
    EXPECT_EQ(comparison.regressions(), one.regression ? 1u : 0u)
        << to_string(one.base.status) << " then " << to_string(one.next.status);
    EXPECT_EQ(comparison.compared(), 0u);
    EXPECT_EQ(says(comparison.warnings, "have none in NEW"), one.base.status == record::Status::ok);
  }
}

TEST(Compare, NothingInCommonIsAnError) {
  const record::ResultsFolder base = sample_folder("one", {timed("naive", 1)});
  const record::ResultsFolder next = sample_folder("other", {timed("xsimd", 1)});
  try {
    compare_folders(base, next, {});
    FAIL() << "compared nothing";
  } catch (const InvalidArgument& error) {
    for (const char* part : {"one", "other", "split/naive/f32", "same axes"}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(Compare, ARecordedNoiseFloorWidensTheThreshold) {
  const record::ResultsFolder base = sample_folder("base", {timed("naive", 1)});
  record::ResultsFolder next = sample_folder("next", {timed("naive", 1.1)});
  EXPECT_EQ(compare_folders(base, next, {}).regressions(), 1u);
  next.environment["noise"] = {{"floor", 0.12}};
  const FolderComparison wide = compare_folders(base, next, {});
  EXPECT_EQ(wide.noise_floor, 0.12);
  EXPECT_EQ(wide.cells[0].difference->verdict, Verdict::same);
  EXPECT_EQ(compare_folders(next, base, {}).noise_floor, 0.12) << "on either side";
  EXPECT_NE(show::comparison_table(wide).find("12 %, the noise floor"), std::string::npos);
  for (const ordered_json& floor :
       {ordered_json(-0.1), ordered_json("3%"), ordered_json(ordered_json::array())}) {
    next.environment["noise"]["floor"] = floor;
    EXPECT_THROW(compare_folders(base, next, {}), FileError);
  }
  next.environment["noise"] = nullptr;
  EXPECT_EQ(compare_folders(base, next, {}).noise_floor, 0);
}

TEST(CompareWarnings, NameWhatElseDiffers) {
  const ordered_json base = test::sample_environment();
  EXPECT_TRUE(environment_differences(base, base).empty());
  ordered_json revision = base;
  revision["build"]["git_revision"] = "another";
  EXPECT_TRUE(environment_differences(base, revision).empty());
  const std::pair<const char*, const char*> changes[] = {
      {"/processor/name", "processor"},     {"/allowed_cores", "allowed cores"},
      {"/isa", "instruction set"},          {"/build/flags", "compiler flags"},
      {"/build/build_type", "build type"},  {"/build/compiler", "compiler"},
      {"/conditions/governor", "governor"}, {"/sweep/min_time_s", "seconds per sample"},
      {"/backends/1/library", "autovec"}};
  for (const auto& [place, name] : changes) {
    ordered_json next = base;
    next[ordered_json::json_pointer(place)] = "changed";
    const std::vector<std::string> differences = environment_differences(base, next);
    ASSERT_EQ(differences.size(), 1u) << place;
    EXPECT_NE(differences[0].find(name), std::string::npos) << differences[0];
    EXPECT_NE(differences[0].find("'changed' in NEW"), std::string::npos) << differences[0];
  }
  EXPECT_TRUE(says(environment_differences(ordered_json::object(), base), "not recorded"));
}

TEST(CompareWarnings, NamePeaksThatDiffer) {
  record::ResultsFolder base = sample_folder("base", {timed("naive", 1)});
  record::ResultsFolder next = sample_folder("next", {timed("naive", 1)});
  const auto peaks = [](double one, double two) {
    return ordered_json{{"fma_gflops_by_threads", {{"1", one}, {"2", two}}}};
  };
  base.environment["peaks"] = peaks(117.3, 232);
  next.environment["peaks"] = peaks(117.1, 121.3);
  const std::vector<std::string> warnings = compare_folders(base, next, {}).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("threads = 2 was 232.0 GFLOP/s in BASE and 121.3"), std::string::npos)
      << warnings[0];
  EXPECT_EQ(compare_folders(next, base, {}).warnings.size(), 1u);
  EXPECT_TRUE(compare_folders(base, next, {0.95, 1}).warnings.empty()) << "within the threshold";
  for (const ordered_json& wrong : {ordered_json("no object"), ordered_json(nullptr),
                                    ordered_json{{"fma_gflops_by_threads", {{"2", "fast"}}}}}) {
    next.environment["peaks"] = wrong;
    EXPECT_TRUE(compare_folders(base, next, {}).warnings.empty());
    EXPECT_TRUE(compare_folders(next, base, {}).warnings.empty());
  }
}

TEST(CompareWarnings, NameCellsThatRanDifferently) {
  const record::ResultsFolder base = sample_folder("base", {timed("naive", 1), timed("tbb", 1)});
  record::ResultsFolder next = sample_folder("next", {timed("naive", 1), timed("tbb", 1)});
  EXPECT_TRUE(compare_folders(base, next, {}).warnings.empty());
  next.results[0].isa = "avx512";
  next.results[0].unit = "amx";
  next.results[1].threads = 4;
  next.results[1] = test::of_one_launch(next.results[1]);
  const std::vector<std::string> warnings = compare_folders(base, next, {}).warnings;
  EXPECT_EQ(warnings.size(), 4u);
  EXPECT_TRUE(says(warnings, "a different instruction set"));
  EXPECT_TRUE(says(warnings, "none in BASE, amx in NEW"));
  EXPECT_TRUE(says(warnings, "avx2 in BASE, avx512 in NEW"));
  EXPECT_TRUE(says(warnings, "a different number of threads"));
  EXPECT_TRUE(says(warnings, "came from one launch"));
}

TEST(CompareOutput, HasARowForEveryCell) {
  const record::ResultsFolder base = sample_folder(
      "results/base",
      {timed("naive", 1), timed("xsimd", 1), timed("tbb", 1), timed("onednn", 1), timed("old", 1)});
  const record::ResultsFolder next =
      sample_folder("results/next",
                    {timed("naive", 1), timed("xsimd", 1.1), broken("tbb", record::Status::failed),
                     broken("onednn", record::Status::skipped)});
  const std::string table = show::comparison_table(compare_folders(base, next, {}));
  for (const char* part :
       {"results/base", "results/next", "2026-01-31T12:00:00Z", "same", "1.100", "slower",
        "REGRESSION: because of tbb", "not compared: because of onednn", "only in BASE",
        "2 cells compared: 0 faster, 1 slower, 1 same, 0 not distinguishable; not compared: ",
        "2 without a time, 1 only in BASE, 0 only in NEW", "beyond 3 %", "2 regressions"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
}

TEST(CompareOutput, IsJsonForPrograms) {
  const record::ResultsFolder base = sample_folder("base", {timed("naive", 1), timed("tbb", 1)});
  const record::ResultsFolder next =
      sample_folder("next", {timed("naive", 1.5), broken("tbb", record::Status::failed)});
  const ordered_json json = show::to_json(compare_folders(base, next, {}));
  EXPECT_EQ(json["schema"], "headroom.compare/1");
  EXPECT_EQ(json["summary"]["regressions"], 2);
  EXPECT_EQ(json["summary"]["slower"], 1);
  ASSERT_EQ(json["cells"].size(), 2u);
  EXPECT_EQ(json["cells"][0]["verdict"], "slower");
  EXPECT_NEAR(json["cells"][0]["ratio"].get<double>(), 1.5, 1e-12);
  EXPECT_EQ(json["cells"][0]["base"]["samples"], 9);
  EXPECT_TRUE(json["cells"][1]["verdict"].is_null());
  EXPECT_EQ(json["cells"][1]["new"]["reason"], "because of tbb");
  EXPECT_EQ(json["cells"][1]["regression"], true);
}

}  // namespace
}  // namespace headroom::judge::compare_test
