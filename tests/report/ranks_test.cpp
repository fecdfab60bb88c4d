// What a report says of cells of several processes: all but a recommendation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "judge/credible_roofs.hpp"
#include "record/peaks.hpp"
#include "report/findings/findings.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/facts.hpp"
#include "report/words/rank_words.hpp"
#include "report/words/wording.hpp"
#include "support/sample_results.hpp"

namespace headroom::ranks_test {
namespace {

using record::CellResult;
using record::ResultsFolder;

CellResult timed(const char* backend, int ranks, double seconds) {
  const std::vector<double> samples(9, seconds);
  CellResult result = test::with_time(test::sample_result(backend), samples);
  result.shape.tokens = 64;
  result.gflops = result.shape.flops().total() / seconds * 1e-9;
  return test::on_ranks(result, ranks);
}

ResultsFolder with_link(std::vector<CellResult> results) {
  ResultsFolder folder = test::sample_folder("results", std::move(results));
  record::Peaks peaks;
  peaks.link = record::Link{1e-6, 1e9};
  folder.environment["peaks"] = to_json(peaks);
  return folder;
}

std::string headline(const ResultsFolder& folder) {
  return report::plain_text(report::conclude(report::find_out(folder)).headline);
}

std::string markdown_of(const ResultsFolder& folder) {
  const report::Findings findings = report::find_out(folder);
  return report::markdown_report(findings, report::conclude(findings), {{}, "none"});
}

std::string page_of(const ResultsFolder& folder) {
  const report::Findings findings = report::find_out(folder);
  return report::page(findings, report::conclude(findings), report::page_data(findings));
}

TEST(ReportOfRanks, RecommendsWhatIsFastestInOneProcess) {
  const ResultsFolder folder = test::sample_folder(
      "results", {timed("naive", 1, 4e-3), timed("autovec", 1, 2e-3), timed("naive", 4, 1e-3)});
  EXPECT_EQ(headline(folder), "Link autovec.");
  const report::Findings findings = report::find_out(folder);
  EXPECT_EQ(findings.shapes.at(0).leaders(), std::vector<std::string>{"autovec"});
  const report::Contest& ranks = findings.shapes[0].contests.at(2);
  ASSERT_TRUE(ranks.over_baseline) << "it is compared all the same";
  EXPECT_EQ(ranks.over_baseline->baseline, folder.results.data());
}

TEST(ReportOfRanks, RecommendsNothingWithoutACellOfOneProcess) {
  const ResultsFolder folder = test::sample_folder("results", {timed("naive", 2, 1e-3)});
  EXPECT_EQ(headline(folder),
            "Every cell with a time is of several ranks, so nothing can be recommended to link.");
}

TEST(ReportOfRanks, RatesThemUnderAsManyRoofs) {
  CellResult one = timed("naive", 1, 1e-3);
  one.control = record::Control{"avx2", 1, std::vector<double>(9, 1.0)};
  const ResultsFolder folder =
      test::sample_folder("results", {one, test::on_ranks(one, 4), timed("naive", 2, 1e-3)});
  const auto share = [&](std::size_t i) {
    return report::share_of_limit(folder, folder.results[i], judge::roofs_of(folder)).value().value;
  };
  EXPECT_DOUBLE_EQ(share(1), share(0) / 4);
  ResultsFolder with_peaks = folder;
  record::Peaks peaks;
  peaks.fma_gflops = {{1, 0.1}};
  peaks.read_gbs = {{1, 20}, {2, 30}};
  with_peaks.environment["peaks"] = to_json(peaks);
  EXPECT_DOUBLE_EQ(report::roof_of(with_peaks, with_peaks.results[1], judge::roofs_of(with_peaks))
                       .value()
                       .fma_gflops,
                   0.4);
  EXPECT_DOUBLE_EQ(report::roof_of(with_peaks, with_peaks.results[1], judge::roofs_of(with_peaks))
                       .value()
                       .read_gb_per_s,
                   30)
      << "the machine has two cores";
  EXPECT_DOUBLE_EQ(report::roof_of(with_peaks, with_peaks.results[0], judge::roofs_of(with_peaks))
                       .value()
                       .read_gb_per_s,
                   20);
}

TEST(ReportOfRanks, HasATableOfPredictionsWhereTheLinkIsKnown) {
  const std::vector<CellResult> cells{timed("naive", 1, 4e-3), timed("naive", 2, 3e-3)};
  const ResultsFolder folder = with_link(cells);
  const std::string markdown = markdown_of(folder);
  const std::string page = page_of(folder);
  for (const char* part : {"## Prediction for more ranks", "| 1 | 2 | 3 ms | ",
                           "links of 1 us and 1.0 GB/s", "| 1 | 64 | - | "}) {
    EXPECT_NE(markdown.find(part), std::string::npos) << part << "\n" << markdown;
  }
  EXPECT_NE(page.find("<h2 id=\"prediction-head\">Prediction for more ranks</h2>"),
            std::string::npos);
  const ResultsFolder without = test::sample_folder("results", cells);
  EXPECT_EQ(markdown_of(without).find("rediction"), std::string::npos);
  EXPECT_EQ(page_of(without).find("id=\"prediction\""), std::string::npos);
  EXPECT_FALSE(report::rank_words(with_link({cells[0]}))) << "of one rank alone";
}

TEST(ReportOfRanks, SaysHowTheyWereStarted) {
  ResultsFolder folder =
      test::sample_folder("results", {timed("naive", 1, 4e-3), timed("naive", 4, 1e-3)});
  EXPECT_EQ(report::ranks_text(folder).find("1, 4: processes that share the heads"), 0U);
  EXPECT_EQ(report::ranks_text(test::sample_folder("results", {timed("naive", 1, 1)})), "");
  auto& axes = folder.environment["sweep"]["identity"]["axes"];
  axes = {{"ranks", "1,4"}};
  EXPECT_EQ(report::repeating_command(folder.environment),
            "mpirun -n 4 headroom sweep --ranks 1,4");
  axes["ranks"] = "1";
  EXPECT_EQ(report::repeating_command(folder.environment), "headroom sweep --ranks 1");
  axes["ranks"] = "many";
  EXPECT_EQ(report::repeating_command(folder.environment), "headroom sweep --ranks many");
}

}  // namespace
}  // namespace headroom::ranks_test
