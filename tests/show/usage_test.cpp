// Energy and counters in tables and in formats for other tools: there if any cell has them, and
// nothing of them otherwise.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "judge/cautions.hpp"
#include "show/export.hpp"
#include "show/machine_words.hpp"
#include "show/results_table.hpp"
#include "show/usage_columns.hpp"
#include "support/sample_results.hpp"

namespace headroom::show::usage_test {
namespace {

using nlohmann::ordered_json;
using record::CellResult;
using test::around;
using test::sample_result;
using test::with_time;

CellResult counted_cell() {
  CellResult cell = with_time(sample_result("naive"), around(0.5));
  cell.used = record::Used{};
  machine::UsageSamples& samples = cell.used->samples;
  samples.joules = std::vector<double>(9, 0.0123);
  samples.instructions = std::vector<double>(9, 1.234e9);
  samples.cycles = std::vector<double>(9, 5e8);
  samples.cache_misses = std::vector<double>(9, 56'700);
  samples.throttled = {0, 0, 3, 0, 0, 0, 1, 0, 0};
  cell.used->idle_share = 0.34;
  return cell;
}

CellResult plain_cell() { return with_time(sample_result("autovec"), around(0.25)); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Amounts, HaveThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_amount(1.234e9), "1.23 G");
  EXPECT_EQ(format_amount(0.0123, "J"), "12.3 mJ");
  EXPECT_EQ(format_amount(999.6, "J"), "1.00 kJ");
  EXPECT_EQ(format_amount(999.4, "J"), "999 J");
  EXPECT_EQ(format_amount(1, "J"), "1.00 J");
  EXPECT_EQ(format_amount(1e6), "1.00 M");
  EXPECT_EQ(format_amount(123), "123");
  EXPECT_EQ(format_amount(0, "J"), "0 J");
  EXPECT_EQ(format_amount(0), "0");
  EXPECT_EQ(format_amount(4.5e-8, "J"), "0.045 uJ");
}

TEST(UsageTable, HasColumnsForWhatACellHas) {
  const std::string table = results_table({counted_cell(), plain_cell()});
  for (const char* part : {"J / pass", " idle", "instr.", "/ cycle", "misses", " 12.3 mJ   34 %",
                           " 1.23 G    2.47  56.7 k", "energy: joules of a pass",
                           "instructions, cycles and cache misses: of a pass"}) {
    EXPECT_TRUE(contains(table, part)) << part << table;
  }
  EXPECT_TRUE(contains(table, "       -      -       -       -       -"))
      << "no cell is silent" << table;
  CellResult energy = counted_cell();
  energy.used->samples = {energy.used->samples.joules, {}, {}, {}, {}};
  energy.used->idle_share.reset();
  const std::string only = results_table({energy});
  EXPECT_TRUE(contains(only, " 12.3 mJ      -")) << only;
  EXPECT_FALSE(contains(only, "instr.")) << only;
}

TEST(UsageTable, IsAsItWasWhereNobodyCounts) {
  const std::string table = results_table({plain_cell()});
  for (const char* part : {"J / pass", "idle", "instr", "misses", "energy"}) {
    EXPECT_FALSE(contains(table, part)) << part << table;
  }
  const record::ResultsFolder folder = test::sample_folder("folder", {plain_cell()});
  EXPECT_FALSE(contains(export_csv(folder), "joules"));
  EXPECT_FALSE(contains(export_google_benchmark(folder), "joules"));
  EXPECT_EQ(usage_note(folder.results), "");
}

TEST(UsageExport, HasColumnsBehindAllOthers) {
  const record::ResultsFolder folder =
      test::sample_folder("folder", {counted_cell(), plain_cell()});
  const std::string csv = export_csv(folder);
  EXPECT_TRUE(contains(csv,
                       ",joules,idle_share,instructions,instructions_per_cycle,cache_misses,"
                       "throttled_samples\r\n"))
      << csv;
  EXPECT_TRUE(contains(csv, ",0.0123,0.34,1234000000,2.468,56700,2\r\n")) << csv;
  EXPECT_TRUE(contains(csv, ",,,,,,\r\n")) << csv;
  const ordered_json entries =
      ordered_json::parse(export_google_benchmark(folder)).at("benchmarks");
  EXPECT_EQ(entries[2].at("joules"), 0.0123);
  EXPECT_EQ(entries[2].at("throttled"), 3) << "of this sample";
  EXPECT_FALSE(entries.back().contains("joules"));
}

TEST(UsageWords, SayWhatTheMachineTellsOrWhyNot) {
  const ordered_json environment{
      {"conditions",
       {{"energy", "powercap: package-0"},
        {"counters", nullptr},
        {"throttling", nullptr},
        {"unavailable", {{"counters", "not available: perf_event_paranoid is 4"}}}}}};
  const std::vector<std::string> lines = condition_lines(environment);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[5], "energy powercap: package-0");
  EXPECT_EQ(lines[6], "counters not available: perf_event_paranoid is 4");
  EXPECT_EQ(lines[7], "throttling not known");
}

TEST(UsageCautions, NameCellsThatWereThrottled) {
  CellResult cool = counted_cell();
  cool.used->samples.throttled.assign(9, 0);
  EXPECT_TRUE(judge::cautions_after({cool, plain_cell()}, 0).empty());
  const auto cautions = judge::cautions_after({cool, counted_cell(), plain_cell()}, 0);
  ASSERT_EQ(cautions.size(), 1u);
  EXPECT_TRUE(contains(cautions.front(), "was throttled")) << cautions.front();
  EXPECT_TRUE(contains(cautions.front(), "while 1 of 2 cells were measured")) << cautions.front();
}

}  // namespace
}  // namespace headroom::show::usage_test
