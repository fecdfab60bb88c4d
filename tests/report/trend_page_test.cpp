// The page of a trend: what it says, how large it is, and what no text can do to it.
#include "report/page/trend_page.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/text/shown.hpp"
#include "support/hostile.hpp"

namespace headroom::report::trend_page_test {
namespace {

using trend::MachineTrend;
using trend::Series;
using trend::Trend;

MachineTrend machine_of(const std::string& name, std::size_t versions) {
  MachineTrend machine;
  machine.machine = name;
  machine.processor = "Processor of " + name;
  machine.by_commit = true;
  for (std::size_t i = 0; i < versions; ++i) {
    machine.versions.push_back({"0.1.0-" + std::to_string(1000 + i), "2026-01-01T00:00:00Z", ""});
  }
  return machine;
}

Series series_of(const std::string& id, std::size_t versions) {
  Series series;
  series.id = id;
  for (std::size_t i = 0; i < versions; ++i) {
    series.points.push_back({i, 1e-3 * (1 + 0.001 * static_cast<double>(i % 3))});
  }
  return series;
}

Series stepped(const std::string& id, std::size_t versions, std::size_t at) {
  Series series = series_of(id, versions);
  for (std::size_t i = at; i < versions; ++i) series.points[i].seconds *= 1.0625;
  series.steps.push_back(
      {at - 1, at, 1.0625, {1.05, 1.075}, 1e-6, {"compiler 'a' before, 'b' after"}});
  return series;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(TrendPage, ShowsStepsFirstAndFoldsWhatIsLevel) {
  Trend trend{0.03, {machine_of("first", 12), machine_of("second", 12)}, {}};
  trend.machines[0].series = {stepped("split/tbb", 12, 7), series_of("split/xsimd", 12)};
  trend.machines[1].series = {series_of("split/tbb", 12)};
  const std::string page = trend_page(trend);
  for (const char* part :
       {"3 cells on 2 machines: 1 changed, 0 maybe, 2 level", "Steps, newest first", "0.1.0-1006",
        "0.1.0-1007", "1.062", "<strong>slower</strong>", "also changed: compiler &#39;a&#39;",
        "<line class=\"slower\"", "<details><summary>first: 1 cell</summary>",
        "<details><summary>second: 1 cell</summary>", "0.1.0-1011: 1.0", "role=\"img\"",
        "tabindex=\"0\"", "prefers-color-scheme: dark"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(count(page, "<figure>"), 1U);
  EXPECT_EQ(count(page, "<circle"), 12U);
  EXPECT_EQ(count(page, "<line class=\"mean\""), 2U) << "a level on each side";
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_LT(page.find("split/tbb"), page.find("split/xsimd"));
}

TEST(TrendPage, SaysWhereThereIsNothing) {
  Trend trend{0.03, {machine_of("first", 4)}, {}};
  trend.machines[0].series = {series_of("split/tbb", 4)};
  const std::string page = trend_page(trend);
  EXPECT_NE(page.find("No step was found."), std::string::npos);
  EXPECT_NE(page.find("1 cell on 1 machine: 0 changed"), std::string::npos);
}

// Level or not: 10,000 cells of 20 versions, and many versions.
TEST(TrendPage, StaysBelowFourMebibytes) {
  const std::string id = "wrapper/onednn.variant/bf16x3/r4t16/B1_T16384_D6144_H96_kv8_cache";
  for (const bool changed : {false, true}) {
    for (const std::size_t versions : {20U, 200U}) {
      Trend trend{0.03, {machine_of("machine", versions), machine_of("other", versions)}, {}};
      for (int i = 0; i < 10000; ++i) {
        const std::string name = id + std::to_string(i);
        const std::size_t at = 2 + static_cast<std::size_t>(i) % (versions - 3);
        trend.machines[static_cast<std::size_t>(i % 2)].series.push_back(
            changed ? stepped(name, versions, at) : series_of(name, versions));
      }
      const std::string page = trend_page(trend);
      EXPECT_LT(page.size(), std::size_t{4} << 20);
      EXPECT_GT(page.size(), std::size_t{1} << 20);
      if (changed || versions > 20) {
        EXPECT_NE(page.find("There is no room for "), std::string::npos);
      }
    }
  }
}

// Texts as the reader of folders leaves them.
TEST(TrendPage, NoTextBreaksOut) {
  const std::string hostile = shown_text(test::kHostile);
  Trend trend{0.03, {machine_of(hostile, 8)}, {}};
  trend.machines[0].processor = hostile;
  trend.machines[0].versions[5].name = hostile;
  trend.machines[0].series = {stepped(hostile, 8, 5), series_of(hostile, 8)};
  trend.machines[0].series[0].steps[0].changes = {hostile};
  trend.machines[0].series[1].maybe = trend.machines[0].series[0].steps[0];
  EXPECT_EQ(test::rendered(trend_page(trend)), "");
}

}  // namespace
}  // namespace headroom::report::trend_page_test
