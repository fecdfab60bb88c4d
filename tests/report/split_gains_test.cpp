// The sentence that answers what split weights gain with more heads: the same in a terminal, in
// Markdown and on the page, and true of the samples on disk.
#include "report/findings/split_gains.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "report/words/sentences.hpp"
#include "support/report_documents.hpp"
#include "support/temporary_folder.hpp"
#include "support/told.hpp"

namespace headroom::split_gains_test {
namespace {

using record::CellResult;
using test::around;
using test::kSplit;
using test::kWrapper;

constexpr const char* kQuestion = "One wide matrix in place of one small matrix per head";

// A cell of a layer of one width, however many heads it has.
CellResult cell(const std::string& backend, Formulation formulation, std::int64_t heads,
                const std::vector<double>& samples, std::int64_t tokens = 16, int threads = 1) {
  CellResult result = test::cell(backend, formulation, heads, samples, threads, tokens);
  result.shape.d_in = result.shape.d_out = result.shape.d_proj = 96;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

// Split weights take a second, and the wrapper that many.
void add(std::vector<CellResult>& results, const std::string& backend, std::int64_t heads,
         double wrapper, double step = 0.001, std::int64_t tokens = 16, int threads = 1) {
  results.push_back(cell(backend, kSplit, heads, around(1, step), tokens, threads));
  results.push_back(cell(backend, kWrapper, heads, around(wrapper, step), tokens, threads));
}

class ReportSplitGains : public test::TemporaryFolder {
 protected:
  // Writes the folder, and reads it back as every command does.
  record::ResultsFolder written(const std::vector<CellResult>& results) const {
    test::write_sample_folder(path_, results);
    return record::read_results_folder(path_);
  }

  // The wrapper's median over that of split weights, as the lines of results.jsonl have them.
  double factor(const std::string& backend, std::int64_t heads, int threads = 1) const {
    double medians[2] = {};
    std::ifstream file(path_ / "results.jsonl");
    for (std::string text; std::getline(file, text);) {
      const auto line = nlohmann::json::parse(text);
      if (line["backend"] != backend || line["shape"]["heads"] != heads) continue;
      if (line["threads"] != threads) continue;
      std::vector<double> samples = line["time_s"]["samples"];
      std::sort(samples.begin(), samples.end());
      medians[line["formulation"] == "wrapper" ? 0 : 1] = samples[samples.size() / 2];
    }
    return medians[0] / medians[1];
  }

  std::string shown(const std::string& backend, std::int64_t heads, int threads = 1) const {
    return fmt::format("**{:.1f} ×** (`{}`)", factor(backend, heads, threads), backend);
  }

  // @param expected as Markdown has it
  static void expect_everywhere(const record::ResultsFolder& folder, const std::string& expected) {
    const std::string markdown = test::markdown_of(folder);
    EXPECT_NE(markdown.find("# Link `"), std::string::npos);
    const std::size_t start = markdown.find("\n\n") + 2;  // what follows the headline
    EXPECT_EQ(markdown.substr(start, markdown.find("\n\n", start) - start), expected);
    std::string html = std::regex_replace(expected, std::regex("`([^`]*)`"), "<code>$1</code>");
    html = std::regex_replace(html, std::regex("\\*\\*([^*]*)\\*\\*"), "<strong>$1</strong>");
    const std::string page = test::page_of(folder);
    const std::size_t place =
        page.find("<p id=\"split-gains\" class=\"sentences\">" + html + "</p>");
    EXPECT_NE(place, std::string::npos) << html;
    EXPECT_LT(place, page.find("id=\"charts\"")) << "the first picture comes before it";
    std::string terminal = report::terminal_lines(report::split_answer(report::find_out(folder)));
    for (std::size_t at = 0, end = 0; at < terminal.size(); at = end + 1) {
      end = terminal.find('\n', at);
      EXPECT_LE(end - at, 100U) << terminal;
    }
    std::replace(terminal.begin(), terminal.end(), '\n', ' ');
    std::string plain = std::regex_replace(expected, std::regex("`|\\*\\*"), "");
    EXPECT_EQ(terminal, std::regex_replace(plain, std::regex("×"), "x") + " ");
  }

  static void expect_nowhere(const record::ResultsFolder& folder) {
    EXPECT_EQ(test::markdown_of(folder).find(kQuestion), std::string::npos);
    EXPECT_EQ(test::page_of(folder).find(kQuestion), std::string::npos);
    EXPECT_EQ(report::terminal_lines(report::split_answer(report::find_out(folder))), "");
  }
};

TEST_F(ReportSplitGains, LevelAtFewHeadsAndFasterAtMany) {
  std::vector<CellResult> results;
  for (const char* backend : {"naive", "autovec", "onednn"}) {
    add(results, backend, 1, 1.004);
    add(results, backend, 12, 0.996);
  }
  add(results, "naive", 96, 1.4);
  add(results, "autovec", 96, 3);
  add(results, "onednn", 96, 3.5);
  const record::ResultsFolder folder = written(results);
  ASSERT_NEAR(factor("onednn", 96), 3.5, 1e-9);
  expect_everywhere(folder, fmt::format("{}: level at 1 and 12 heads, {} to {} at 96.", kQuestion,
                                        shown("naive", 96), shown("onednn", 96)));
}

// What cannot be told apart is not called level, and what is slower is not left out.
TEST_F(ReportSplitGains, UnclearIsNotLevelAndSlowerIsSaid) {
  std::vector<CellResult> results;
  add(results, "naive", 1, 1.02, 0.05);
  add(results, "tbb", 1, 1.004);
  add(results, "naive", 96, 0.5);
  add(results, "tbb", 96, 1.004);
  const record::ResultsFolder folder = written(results);
  expect_everywhere(folder, fmt::format("{}: no difference can be shown at 1 head, **{:.2f} ×** "
                                        "(`naive`) at 96; `tbb` is level throughout.",
                                        kQuestion, factor("naive", 96)));
}

TEST_F(ReportSplitGains, EachBackendIsAccountedFor) {
  std::vector<CellResult> results;
  for (const char* backend : {"naive", "autovec", "onednn", "noisy"}) {
    add(results, backend, 12, 1.3);
  }
  add(results, "xsimd", 12, 1.004);
  add(results, "tbb", 12, 1.02, 0.05);
  add(results, "naive", 96, 1.004);
  add(results, "autovec", 96, 0.5);
  add(results, "onednn", 96, 3.5);
  add(results, "noisy", 96, 1.02, 0.05);
  add(results, "xsimd", 96, 0.996);
  add(results, "tbb", 96, 1.004);
  const record::ResultsFolder folder = written(results);
  expect_everywhere(
      folder,
      fmt::format(
          "{}: **{:.1f} ×** (`naive`, `autovec`, `noisy` and `onednn`) at 12 heads; {} at "
          "96, where `autovec` is slower, `naive` is level and no difference can be shown for "
          "`noisy`; `xsimd` is level throughout; no difference "
          "can be shown for `tbb`.",
          kQuestion, factor("naive", 12), shown("onednn", 96)));
}

// A wrapper whose record says that it multiplies what split multiplies is level for that reason.
TEST_F(ReportSplitGains, PackedTogether_LevelThroughout_SaysWhy) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {1, 96}) {
    add(results, "onednn", heads, heads == 1 ? 1.004 : 3.5);
    for (const char* backend : {"xsimd", "tbb"}) {
      add(results, backend, heads, 1.004);
      results.back().costs->packs_heads_together = true;
    }
  }
  expect_everywhere(written(results),
                    fmt::format("{}: level at 1 head, {} at 96; `tbb` and `xsimd` are level "
                                "throughout (they pack the matrices of all heads together).",
                                kQuestion, std::string("**3.5 ×** (`onednn`)")));
  results.back().costs->packs_heads_together = false;  // of tbb
  expect_everywhere(written(results),
                    fmt::format("{}: level at 1 head, **3.5 ×** (`onednn`) at 96; `tbb` is level "
                                "throughout; `xsimd` is level throughout (it packs the matrices of "
                                "all heads together).",
                                kQuestion));
}

// Nobody reads eleven figures: the most heads have their own, and those before one for all.
TEST_F(ReportSplitGains, ManyNumbersOfHeadsAreSaidTogether) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {1, 2, 4, 8}) add(results, "onednn", heads, 1.004);
  add(results, "onednn", 12, 1.1);
  add(results, "onednn", 24, 2.2);
  add(results, "onednn", 48, 1.8);
  add(results, "onednn", 96, 3.5);
  const record::ResultsFolder folder = written(results);
  expect_everywhere(folder, fmt::format("{}: level at 1 to 8 heads, up to {} at 12, 24 and 48, {} "
                                        "at 96.",
                                        kQuestion, shown("onednn", 24), shown("onednn", 96)));
  results.resize(results.size() - 8);  // the four that differ
  expect_everywhere(written(results), std::string(kQuestion) + ": level at 1 to 8 heads.");
}

TEST_F(ReportSplitGains, TwoSeriesAreNamedTheLongestFirst) {
  std::vector<CellResult> results;
  add(results, "tbb", 2, 1.5, 0.001, 8);
  add(results, "tbb", 4, 1.6, 0.001, 8);
  for (const std::int64_t heads : {1, 12, 96}) add(results, "tbb", heads, 1.004);
  for (const std::int64_t heads : {3, 6}) {
    add(results, "tbb", heads, 2, 0.001, 128);
    add(results, "naive", heads, 2, 0.001, 128);
  }
  const record::ResultsFolder folder = written(results);
  EXPECT_EQ(report::split_gains(report::find_out(folder)).size(), 3U);
  expect_everywhere(folder,
                    fmt::format("{} (16 tokens, width 96): level at 1, 12 and 96 heads. With 128 "
                                "tokens, width 96: **2.0 ×** (`naive` and `tbb`) at 3 "
                                "heads, **2.0 ×** (`naive` and `tbb`) at 6.",
                                kQuestion));
}

// Another shape that was compared as well is none that the sentence is about.
TEST_F(ReportSplitGains, OneOfSeveralShapesIsNamed) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {1, 96}) add(results, "tbb", heads, 1.004);
  add(results, "tbb", 12, 2, 0.001, 128);
  expect_everywhere(written(results),
                    fmt::format("{} (16 tokens, width 96): level at 1 and 96 heads.", kQuestion));
}

TEST_F(ReportSplitGains, HeadsOfOneWidthWhereTheyAreMore) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {2, 8}) {
    results.push_back(test::cell("tbb", kSplit, heads, around(1)));
    results.push_back(test::cell("tbb", kWrapper, heads, around(heads == 2 ? 1 : 2)));
  }
  const record::ResultsFolder folder = written(results);
  expect_everywhere(folder,
                    fmt::format("{}: level at 2 heads, {} at 8.", kQuestion, shown("tbb", 8)));
  for (const std::int64_t heads : {2, 8, 12}) {  // of 4 with 4 tokens, and of one width with 128
    add(results, "tbb", heads, 1.004, 0.001, 128);
  }
  expect_everywhere(
      written(results),
      fmt::format("{} (128 tokens, width 96): level at 2, 8 and 12 heads.", kQuestion));
  for (const std::int64_t heads : {3, 5}) {
    results.push_back(test::cell("tbb", kSplit, heads, around(1)));
    results.push_back(test::cell("tbb", kWrapper, heads, around(1)));
  }
  expect_everywhere(written(results),
                    fmt::format("{} (4 tokens, heads of 4): level at 2, 3 and 5 heads, {} at 8. "
                                "With 128 tokens, width 96: level at 2, 8 and 12 heads.",
                                kQuestion, "**2.0 ×** (`tbb`)"));
}

TEST_F(ReportSplitGains, OfTheMostThreads) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {1, 96}) {
    add(results, "tbb", heads, 5, 0.001, 16, 1);
    add(results, "tbb", heads, heads == 1 ? 1.004 : 1.5, 0.001, 16, 2);
  }
  const record::ResultsFolder folder = written(results);
  expect_everywhere(folder,
                    fmt::format("{}: level at 1 head, {} at 96.", kQuestion, shown("tbb", 96, 2)));
}

TEST_F(ReportSplitGains, OneNumberOfHeadsIsNoSeries) {
  std::vector<CellResult> results;
  add(results, "tbb", 96, 2);
  add(results, "xsimd", 96, 2);
  expect_nowhere(written(results));
  results.push_back(cell("tbb", kSplit, 12, around(1)));  // without its wrapper
  expect_nowhere(written(results));
  add(results, "auto", 12, 2);
  expect_nowhere(written(results));
  add(results, "xsimd", 12, 2);
  const record::ResultsFolder folder = written(results);
  expect_everywhere(folder, fmt::format("{}: {} at 12 heads, **2.0 ×** (`tbb` and `xsimd`) at 96.",
                                        kQuestion, shown("xsimd", 12)));
}

// Less exact numbers have other products, and are no part of the headline.
TEST_F(ReportSplitGains, OtherNumbersDoNotCount) {
  std::vector<CellResult> results;
  for (const std::int64_t heads : {1, 96}) {
    add(results, "tbb", heads, 1.004);
    for (const Formulation formulation : {kSplit, kWrapper}) {
      CellResult rounded = cell("tbb", formulation, heads, around(formulation == kSplit ? 1 : 4));
      rounded.cell.numbers.precision = Precision::bf16;
      rounded.cell.id = plan::cell_id(rounded.shape, rounded.cell);
      results.push_back(rounded);
    }
  }
  const record::ResultsFolder folder = test::sample_folder("results", results);
  const report::Findings findings = report::find_out(folder);
  const std::vector<report::SplitGains> all = report::split_gains(findings);
  ASSERT_EQ(all.size(), 1U);
  for (const auto& at : all[0].by_heads) {
    ASSERT_EQ(at.cells.size(), 1U);
    EXPECT_EQ(at.cells[0]->cell->cell.numbers, Numbers{});
  }
}

}  // namespace
}  // namespace headroom::split_gains_test
