// The page of several machines: what it draws is what was recorded, what it ranks was verified, and
// nothing in it is obeyed.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "headroom/error.hpp"
#include "report/many/many_documents.hpp"
#include "report/many/many_report.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/many_words.hpp"
#include "report/many/pictures/many_pictures.hpp"
#include "report/many/text_table.hpp"
#include "show/export.hpp"
#include "support/hostile.hpp"
#include "support/many_page.hpp"
#include "support/told.hpp"

namespace headroom::report::many_test {
namespace {

using test::around;
using test::Drawn;
using test::environment_of;
using test::machine_cell;

class Many : public test::ManyPage {
 protected:
  void SetUp() override {
    test::ManyPage::SetUp();
    for (const auto& [name, slower] : {std::pair("alpha", 1.0), std::pair("beta", 1.7)}) {
      std::vector<record::CellResult> cells, cold;
      for (const std::int64_t heads : {1, 2, 4, 8}) {
        const double time = 1e-4 * slower * static_cast<double>(heads * heads);
        cells.push_back(machine_cell("xsimd", heads, around(time)));
        cells.push_back(machine_cell("onednn", heads, around(1.3 * time)));
        cells.push_back(
            test::computed_as(machine_cell("xsimd", heads, around(0.4 * time)), Precision::bf16));
        cells.push_back(test::not_checked(machine_cell("tbb", heads, around(1e-6))));
        cold.push_back(test::cold(machine_cell("xsimd", heads, around(2.5 * time))));
      }
      folder(name, cells, environment_of(name));
      folder(std::string(name) + "-cold", cold, environment_of(name));
    }
    look({{"", path_ / "alpha"},
          {"", path_ / "beta"},
          {"", path_ / "alpha-cold"},
          {"", path_ / "beta-cold"}});
  }
};

TEST_F(Many, TimesByHeadsAreThoseOfTheRecords) {
  expect_recorded("time-by-heads",
                  [&](const Drawn& mark) { return median(folder_of(mark), mark.cell); });
  for (const Drawn& mark : drawn("time-by-heads")) {
    EXPECT_EQ(mark.at, line(folder_of(mark), mark.cell).at("shape").at("heads").dump());
  }
}

TEST_F(Many, SharesOfTheRoofAreThoseOfTheRecords) {
  expect_recorded("share-by-heads", [&](const Drawn& mark) {
    return line(folder_of(mark), mark.cell).at("gflops").get<double>() / 100;
  });
}

TEST_F(Many, PrecisionsAreThoseOfTheRecords) {
  expect_recorded("precisions", [&](const Drawn& mark) {
    const std::string folder = folder_of(mark);
    const std::string of_f32 = std::regex_replace(mark.cell, std::regex("/bf16/"), "/f32/");
    return median(folder, mark.cell) / median(folder, of_f32);
  });
}

TEST_F(Many, CachesAreThoseOfTheRecords) {
  expect_recorded("caches", [&](const Drawn& mark) {
    const std::string folder = folder_of(mark);
    return median(folder + "-cold", mark.cell) / median(folder, mark.cell);
  });
}

TEST_F(Many, WhatIsNotVerifiedIsListedAndNowhereElse) {
  const std::size_t cells = page_.find("<section id=\"cells\"");
  const std::size_t listed = page_.find("<section id=\"unverified\"");
  ASSERT_NE(cells, std::string::npos);
  ASSERT_LT(listed, cells);
  EXPECT_EQ(page_.substr(0, listed).find("tbb"), std::string::npos);
  EXPECT_NE(page_.find("split/tbb/f32/t1", cells), std::string::npos);
  EXPECT_NE(page_.find("not ranked: it was not checked", cells), std::string::npos);
  EXPECT_NE(page_.find("8 cells are not verified"), std::string::npos);
}

TEST_F(Many, BeginsWithWhatToLinkEverywhere) {
  EXPECT_EQ(plain_text(many_headline(overview_)), "Link xsimd on both machines.");
  EXPECT_NE(page_.find("<h1 id=\"headline\">Link <code>xsimd</code> on both machines.</h1>"),
            std::string::npos);
  EXPECT_EQ(many_markdown(overview_, {}).find("<!-- written by headroom report -->\n# Link"), 0U);
}

TEST_F(Many, EachShapeSaysWhetherOneBackendHolds) {
  const Table table = winner_table(overview_);
  ASSERT_EQ(table.columns.size(), 4U);
  EXPECT_EQ(test::row_text(table, 0),
            "1 head, 8 tokens, width 4 | yes | xsimd, clear | xsimd, clear");
}

TEST_F(Many, ThePagesTableOfTheMatrixReadsBothWays) {
  folder("gamma", {machine_cell("xsimd", 2, around(8e-4))}, environment_of("gamma"));
  look({{"", path_ / "alpha"}, {"", path_ / "beta"}, {"", path_ / "gamma"}});
  const across::Matrix* matrix = nullptr;
  for (const across::Matrix& each : overview_.matrices.shown) {
    if (each.contest->standings.size() == 3) matrix = &each;
  }
  ASSERT_NE(matrix, nullptr);
  const Table table = matrix_table(overview_, *matrix);
  EXPECT_NE(plain_text(table.rows.at(0).at(2)).find("0.59 × ("), std::string::npos);
  EXPECT_NE(plain_text(table.rows.at(0).at(2)).find("faster"), std::string::npos);
  EXPECT_NE(plain_text(table.rows.at(1).at(1)).find("1.70 × ("), std::string::npos);
  EXPECT_NE(plain_text(table.rows.at(1).at(1)).find("slower"), std::string::npos);
  EXPECT_EQ(plain_text(table.rows.at(1).at(2)), "-");
}

TEST_F(Many, VerdictsBetweenDifferentProgramsAreMarked) {
  EXPECT_EQ(test::row_text(pair_table(overview_, overview_.matrices.shown.at(0)), 0).find("source"),
            std::string::npos);
  folder("gamma", {machine_cell("xsimd", 1, around(8e-4))},
         environment_of("gamma", "bbbbbbbbbbbb"));
  look({{"", path_ / "alpha"}, {"", path_ / "gamma"}});
  EXPECT_NE(
      test::row_text(pair_table(overview_, overview_.matrices.shown.at(0)), 0).find("| source"),
      std::string::npos);
  EXPECT_NE(page_.find("2 versions of the program"), std::string::npos);
}

TEST_F(Many, OneTableHasTheCellsOfAllFolders) {
  std::vector<show::NamedFolder> folders;
  for (const across::Entry& entry : collection_.entries) {
    folders.push_back({&entry.folder, collection_.machine_of(entry).name, entry.version});
  }
  const std::string csv = show::export_csv(folders);
  EXPECT_TRUE(csv.starts_with("machine,version,id,status,"));
  std::istringstream lines(csv);
  std::size_t rows = 0;
  for (std::string row; std::getline(lines, row); ++rows) {
    if (rows == 0) continue;
    EXPECT_NE(row.find(",0.1.0-aaaaaaaaaaaa,split/"), std::string::npos) << row;
  }
  EXPECT_EQ(rows, 1 + 2 * 20U);
}

TEST_F(Many, PricesGiveResultsForTheMoney) {
  EXPECT_EQ(page_.find("id=\"money\""), std::string::npos);
  look({{"a", path_ / "alpha"}, {"b", path_ / "beta"}}, {{"a", 0.4}, {"b", 0.1}});
  EXPECT_NE(page_.find("id=\"money\""), std::string::npos);
  const std::string row = test::row_text(value_table(overview_), 0);
  EXPECT_NE(row.find("| b | "), std::string::npos) << row;
  EXPECT_NE(row.find("the most for the money"), std::string::npos) << row;
}

// A backend that loses little in `good` of so many spots, which every machine would choose.
across::LoneBackend agreed_on(const std::string& backend, Demand demand, std::size_t machines,
                              std::size_t good, std::size_t spots) {
  across::LoneBackend lone;
  lone.demand = demand;
  lone.spots = spots;
  lone.backends = {{backend, good, 0, 1, spots - good - 1, 1, {}}};
  for (std::size_t machine = 0; machine < machines; ++machine) {
    lone.own.push_back({machine, backend, 1});
  }
  return lone;
}

TEST(ManyHeadline, IsOneSentenceWhereOneBackendServesAllDemands) {
  across::Overview overview;
  overview.lone = {agreed_on("tbb", Demand::decode, 3, 12, 15),
                   agreed_on("tbb", Demand::prefill, 5, 62, 76)};
  EXPECT_EQ(plain_text(many_headline(overview)),
            "Link tbb on all 5 machines: little is lost in 74 of 91 shapes, more in 2, not known "
            "in 15.");
  overview.lone.front() = agreed_on("xsimd", Demand::decode, 3, 12, 15);
  EXPECT_EQ(plain_text(many_headline(overview)),
            "Few tokens: link xsimd on all 3 machines: little is lost in 12 of 15 shapes, more in "
            "1, not known in 2. Prefill: link tbb on all 5 machines: little is lost in 62 of 76 "
            "shapes, more in 1, not known in 13.");
}

TEST_F(Many, WritesAllFilesAndNoneOverAUsers) {
  const std::filesystem::path page = write_many(overview_, path_ / "out");
  EXPECT_TRUE(std::filesystem::exists(page));
  for (const char* name : {"report.md", "results.csv", "pictures/time-by-heads.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(path_ / "out" / name)) << name;
  }
  write_many(overview_, path_ / "out");  // once more, over its own files
  write("theirs/index.html", "<p>mine</p>");
  EXPECT_THROW(write_many(overview_, path_ / "theirs"), InvalidArgument);
}

TEST_F(Many, NothingOfAHostileFolderIsObeyed) {
  nlohmann::ordered_json environment = environment_of(test::kHostile);
  environment["build"]["git_revision"] = test::kHostile;
  environment["build"]["flags"] = test::kHostile;
  environment["time"] = test::kHostile;
  environment["backends"] = nlohmann::ordered_json::array(
      {nlohmann::ordered_json{{"name", test::kHostile}, {"library", test::kHostile}}});
  record::CellResult cell = machine_cell("xsimd", 2, around(1e-3));
  cell.cell.backend = test::kHostile;
  cell.cell.id += test::kHostile;
  folder("bad",
         {cell, test::without_time(machine_cell("tbb", 2, around(1e-3)), record::Status::failed,
                                   test::kHostile)},
         environment);
  look({{"", path_ / "alpha"}, {test::kHostile, path_ / "bad"}}, {{test::kHostile, 1}});
  const std::vector<Chart> charts = many_charts(overview_);
  EXPECT_EQ(test::rendered(page_), "");
  EXPECT_EQ(test::rendered(many_markdown(overview_, charts)), "");
  EXPECT_EQ(test::obeyed(many_text(overview_)), "");
  for (const Chart& chart : charts) EXPECT_EQ(test::rendered(svg(chart, true)), "") << chart.name;
}

TEST(TextTable, ColumnsStandBelowEachOther) {
  const Table table{{{"name", false}, {"ratio", true}},
                    {{{plain("a")}, {plain("1.5 ×")}}, {{plain("longer")}, {plain("10 ×")}}}};
  EXPECT_EQ(text_table(table), "name    ratio\na       1.5 ×\nlonger   10 ×\n");
}

}  // namespace
}  // namespace headroom::report::many_test
