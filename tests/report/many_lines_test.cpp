// The pictures of several machines over threads, tokens and what came before: their figures are
// those of the records, and who is not drawn is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "plan/cell.hpp"
#include "report/many/many_tables.hpp"
#include "support/many_page.hpp"
#include "support/told.hpp"

namespace headroom::report::many_lines_test {
namespace {

using record::CellResult;
using test::around;
using test::Drawn;
using test::environment_of;
using test::machine_cell;

// Of 2 heads of 4, as `machine_cell`.
CellResult sized(std::int64_t tokens, std::int64_t past, double time) {
  CellResult result = machine_cell("xsimd", 2, around(time));
  result.shape.tokens = tokens;
  result.shape.past = past;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result = test::with_time(std::move(result), around(time));
  result.checked_rows = 1;
  return result;
}

class ManyLines : public test::ManyPage {
 protected:
  // tbb gains `gain` with each thread more; xsimd is faster than it on any of them, and has one.
  std::vector<CellResult> cells_of(double time, double gain) const {
    std::vector<CellResult> cells{machine_cell("xsimd", 2, around(0.1 * time)),
                                  machine_cell("onednn", 2, around(3 * time), 1),
                                  machine_cell("onednn", 2, around(time), 4)};
    for (const int threads : {1, 2, 4}) {
      cells.push_back(machine_cell("tbb", 2, around(time / (1 + gain * (threads - 1))), threads));
      cells.push_back(test::not_checked(machine_cell("autovec", 2, around(1e-9), threads)));
    }
    for (const std::int64_t tokens : {16, 64}) {
      cells.push_back(sized(tokens, 0, time * static_cast<double>(tokens)));
    }
    for (const std::int64_t past : {4096, 64, 512}) {
      cells.push_back(sized(1, past, 1e-3 * time * static_cast<double>(past)));
    }
    return cells;
  }

  void SetUp() override {
    test::ManyPage::SetUp();
    folder("alpha", cells_of(1e-3, 0.9), environment_of("alpha"));
    folder("beta", cells_of(3e-3, 0.25), environment_of("beta"));
    folder("gamma",
           {machine_cell("tbb", 2, around(1e-3), 2), machine_cell("tbb", 2, around(6e-4), 4)},
           environment_of("gamma"));
    folder("delta",
           {machine_cell("tbb", 4, around(1e-3), 1), machine_cell("tbb", 4, around(5e-4), 2)},
           environment_of("delta"));
    look({{"", path_ / "alpha"},
          {"", path_ / "beta"},
          {"gamma", path_ / "gamma"},
          {"delta", path_ / "delta"}});
  }

  std::string note_of(const std::string& name) const {
    for (const Chart& chart : many_charts(overview_)) {
      if (chart.name == name) return chart.note;
    }
    return "";
  }
};

TEST_F(ManyLines, SpeedUpsAreThoseOfTheSameCellOnOneThread) {
  expect_recorded("threads", [&](const Drawn& mark) {
    const std::string machine = folder_of(mark);
    EXPECT_EQ(mark.cell, fmt::format("split/tbb/f32/t{}/B1_T8_D8_H2", mark.at));
    return median(machine, "split/tbb/f32/t1/B1_T8_D8_H2") / median(machine, mark.cell);
  });
  EXPECT_EQ(drawn("threads").size(), 4U);
}

TEST_F(ManyLines, EachSpeedUpHasItsIntervalAndStandsBesideTheIdeal) {
  for (const Chart& chart : many_charts(overview_)) {
    if (chart.name != "threads") continue;
    for (const Series& series : chart.series) {
      for (const Mark& mark : series.marks) {
        EXPECT_LT(mark.ci95.low, mark.y) << mark.cell;
        EXPECT_GT(mark.ci95.high, mark.y) << mark.cell;
        EXPECT_LT(mark.ci95.high, mark.x) << mark.cell;
      }
    }
    const std::string picture = svg(chart, true);
    EXPECT_NE(picture.find("class=\"ideal\""), std::string::npos);
    EXPECT_NE(picture.find("class=\"whisker\""), std::string::npos);
  }
}

TEST_F(ManyLines, WhoHasNoSeveralThreadsIsNamed) {
  const std::string note = note_of("threads");
  EXPECT_NE(note.find("no cell was measured on one thread and on more: gamma."), std::string::npos)
      << note;
  EXPECT_NE(note.find("because only other shapes were: delta"), std::string::npos) << note;
}

TEST_F(ManyLines, TheTableHasEveryShapeWithItsShareOfTheIdeal) {
  const Table table = thread_table(overview_);
  ASSERT_EQ(table.rows.size(), 5U);
  const std::string row = test::row_text(table, 0);
  EXPECT_NE(row.find("| tbb/split | 1 ms | 2 | 526.3 us | "), std::string::npos) << row;
  EXPECT_NE(row.find("| 1.90 × | 1.89 to 1.91 | 95 % | faster"), std::string::npos) << row;
  EXPECT_NE(page_.find("id=\"more-threads\""), std::string::npos);
  EXPECT_NE(many_markdown(overview_, {}).find("\n## More threads\n"), std::string::npos);
}

TEST_F(ManyLines, TimesByTokensAreThoseOfTheRecords) {
  look({{"", path_ / "alpha"}, {"", path_ / "beta"}});
  expect_recorded("time-by-tokens",
                  [&](const Drawn& mark) { return median(folder_of(mark), mark.cell); });
  for (const Drawn& mark : drawn("time-by-tokens")) {
    EXPECT_EQ(mark.at, line(folder_of(mark), mark.cell).at("shape").at("tokens").dump());
  }
}

TEST_F(ManyLines, StepsAfterAPastAreThoseOfTheRecords) {
  expect_recorded("time-by-past-few-tokens",
                  [&](const Drawn& mark) { return median(folder_of(mark), mark.cell); });
  double last = 0;
  for (const Drawn& mark : drawn("time-by-past-few-tokens")) {
    EXPECT_EQ(mark.at, line(folder_of(mark), mark.cell).at("shape").at("past").dump());
    const double past = std::stod(mark.at);
    EXPECT_TRUE(past > last || past == 64) << "a line goes back to " << past;
    last = past;
  }
  expect_recorded("share-by-past-few-tokens", [&](const Drawn& mark) { return mark.value; });
}

TEST_F(ManyLines, AMachineLooksAlikeInAllPictures) {
  look({{"", path_ / "delta"}, {"", path_ / "alpha"}, {"", path_ / "beta"}});
  std::map<std::string, std::set<std::size_t>> looks;
  std::size_t first = 0;
  for (const Chart& chart : many_charts(overview_)) {
    if (!chart.rows.empty()) continue;
    const std::string picture = svg(chart, true);
    for (const Series& series : chart.series) {
      looks[series.name].insert(series.look);
      EXPECT_NE(picture.find(
                    fmt::format("class=\"mark s{}\" data-series=\"{}", series.look, series.name)),
                std::string::npos);
    }
    first += chart.series.front().look == 0 ? 1U : 0U;
  }
  EXPECT_EQ(looks.size(), 3U);
  for (const auto& [name, of_name] : looks) EXPECT_EQ(of_name.size(), 1U) << name;
  EXPECT_GT(first, 0U) << "nothing shows the first machine";
}

}  // namespace
}  // namespace headroom::report::many_lines_test
