// Energy and counters on a report's page and in its text; nothing of them where a machine tells
// nothing but why.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/facts.hpp"
#include "support/report_documents.hpp"
#include "support/sample_results.hpp"

namespace headroom::usage_test {
namespace {

using test::markdown_of;
using test::page_of;

record::ResultsFolder a_folder(bool counted) {
  record::CellResult cell = test::with_time(test::sample_result("tbb"), {1, 1.1, 1.2, 1.3, 1.4});
  if (counted) {
    cell.used = record::Used{};
    cell.used->samples.joules = std::vector<double>(5, 0.0123);
    cell.used->samples.instructions = std::vector<double>(5, 1.234e9);
    cell.used->samples.cycles = std::vector<double>(5, 5e8);
    cell.used->idle_share = 0.34;
  }
  record::ResultsFolder folder = test::sample_folder("results", {cell});
  folder.lines = {record::to_json(cell).dump()};
  return folder;
}

TEST(UsageReport, HasColumnsAndSaysWhatTheyMean) {
  const record::ResultsFolder folder = a_folder(true);
  for (const std::string& text : {page_of(folder), markdown_of(folder)}) {
    for (const char* part : {"Energy and counters of the fastest cells", "12.3 mJ", "34 %",
                             "1.23 G", "2.47", "energy: joules of a pass"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
  }
}

TEST(UsageReport, IsAsItWasWhereNobodyCounts) {
  const record::ResultsFolder folder = a_folder(false);
  for (const char* part : {"idle", "per cycle", "joules", "nergy"}) {
    EXPECT_EQ(markdown_of(folder).find(part), std::string::npos) << part;
  }
}

TEST(UsageReport, NamesTheIdlePowerAndWhatIsMissing) {
  record::ResultsFolder folder = a_folder(true);
  folder.environment["peaks"] = {{"fma_gflops_by_threads", {{"1", 100.0}}}, {"idle_watts", 12.34}};
  folder.environment["conditions"] = {
      {"energy", "powercap: package-0"},
      {"counters", nullptr},
      {"unavailable", {{"counters", "not available: perf_event_paranoid is 4"}}}};
  const std::string text = report::markdown(report::machine_facts(folder));
  for (const char* part : {"idle 12.3 W", "energy powercap: package-0",
                           "counters not available: perf\\_event\\_paranoid is 4"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
  EXPECT_EQ(text.find("throttling"), std::string::npos) << "an older headroom knew nothing of it";
}

}  // namespace
}  // namespace headroom::usage_test
