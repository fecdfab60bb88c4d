// What a terminal and a report say of each shape, and of what has no time.
#include "report/words/answers.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/facts.hpp"
#include "show/results_table.hpp"
#include "support/told.hpp"

namespace headroom::answers_test {
namespace {

using record::CellResult;
using record::Status;
using test::around;
using test::cell;
using test::kSplit;
using test::kWrapper;
using test::row_text;

// On a terminal no line is longer than 100 characters, and no figure is cut off.
TEST(ReportAnswers, TheAnswersOfATerminalFitItsLines) {
  CellResult odd = cell("xsimd", kWrapper, 96, around(1e-7));
  odd.shape.lengths.clear();
  for (int i = 0; i < 40; ++i) odd.shape.lengths.push_back(1000 + i);
  odd.cell.id = plan::cell_id(odd.shape, odd.cell);
  const record::ResultsFolder folder = test::sample_folder(
      "results", {odd, cell("naive", kSplit, 96, around(8)), cell("tbb", kSplit, 96, around(1), 2),
                  cell("xsimd", kSplit, 96, around(2))});
  std::istringstream lines(report::answer_lines(report::find_out(folder)));
  std::size_t figures = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool alone = line.find("_L1000-1001") != std::string::npos;  // the name of the odd shape
    EXPECT_TRUE(alone || line.size() <= 100) << line;
    if (line.find("xsimd/wrapper") != std::string::npos ||
        line.find("tbb/split") != std::string::npos)
      ++figures;
  }
  EXPECT_EQ(figures, 2U);
}

// Fifteen cells with one reason are one line, on a terminal and in a report.
TEST(ReportAnswers, WhatHasNoTimeForOneReasonIsSaidOnce) {
  std::vector<CellResult> results{cell("tbb", kSplit, 2, around(1))};
  for (const char* backend : {"naive", "autovec", "xsimd"}) {
    results.push_back(test::without_time(cell(backend, kSplit, 2, around(1)), Status::unsupported,
                                         "no such part"));
  }
  results.push_back(
      test::without_time(cell("onednn", kSplit, 2, around(1)), Status::failed, "wrong"));
  const record::ResultsFolder folder = test::sample_folder("results", std::move(results));
  const std::string shown = show::results_table(folder.results, {});
  const std::string once =
      "  3 cells unsupported: no such part: naive split (1), autovec split (1), xsimd split (1)\n";
  EXPECT_NE(shown.find(once), std::string::npos) << shown;
  EXPECT_EQ(shown.find("no such part"), shown.rfind("no such part")) << shown;
  EXPECT_NE(shown.find(" failed: wrong\n"), std::string::npos) << shown;
  const report::Table table = report::table_without_times(folder);
  ASSERT_EQ(table.rows.size(), 2U);
  const std::string row = row_text(table, 0);
  EXPECT_EQ(row.find("unsupported | split/naive/"), 0U) << row;
  EXPECT_NE(row.find(", split/xsimd/"), std::string::npos) << row;
  EXPECT_EQ(row_text(table, 1).find("failed | split/onednn/"), 0U);
}

}  // namespace
}  // namespace headroom::answers_test
