// What a report says of a folder in which other libraries were measured beside ours.
#include <gtest/gtest.h>

#include <string>

#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/facts.hpp"
#include "report/words/peer_words.hpp"
#include "support/report_documents.hpp"
#include "support/sample_peers.hpp"

namespace headroom::peers_test {
namespace {

using test::markdown_of;
using test::page_of;

using report::PeerWords;
using test::folder_with_peers;

PeerWords words_of(const record::ResultsFolder& folder) {
  return report::peer_words(report::find_out(folder)).value();
}

std::string joined(const std::vector<report::Prose>& all) {
  std::string text;
  for (const report::Prose& prose : all) text += report::plain_text(prose) + "\n";
  return text;
}

std::string joined(const report::Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    for (const report::Prose& cell : row) text += report::plain_text(cell) + "|";
    text += "\n";
  }
  return text;
}

record::ResultsFolder without_the_faster_one() {
  record::ResultsFolder folder = folder_with_peers();
  for (record::CellResult& result : folder.results) {
    if (result.cell.id == "fused/rapid/f32/t1/B1_T4_D8_H2") {
      result = test::with_time(std::move(result), test::around(1.5e-3));
    }
  }
  return folder;
}

TEST(ReportPeers, NameEveryPlaceWhereAnotherLibraryIsFaster) {
  const PeerWords words = words_of(folder_with_peers());
  EXPECT_EQ(report::plain_text(words.headline),
            "Another library is faster than the best of ours in 1 of 2 combinations of shape and "
            "threads.");
  ASSERT_EQ(words.faster.size(), 1u);
  EXPECT_EQ(joined(words.faster)
                .find("4 tokens, width 8, 2 heads, on 1 thread: rapid/fused takes 0.80 × (95 % "
                      "confidence interval "),
            0u)
      << joined(words.faster);
  EXPECT_NE(joined(words.faster).find(") the time of tbb/fused."), std::string::npos);
  EXPECT_EQ(joined(words.sentences),
            "4 tokens, width 8, 2 heads, on 2 threads: rapid/fused cannot be shown to be slower "
            "than tbb/fused.\n"
            "16 tokens, width 8, 2 heads, on 1 thread: none of ours has a time, but steady/fused "
            "takes 5 ms.\n");
}

TEST(ReportPeers, SayThatThereIsNone) {
  const PeerWords words = words_of(without_the_faster_one());
  EXPECT_EQ(report::plain_text(words.headline),
            "No other library is shown to be faster than the best of ours in any of 2 combinations "
            "of shape and threads.");
  EXPECT_TRUE(words.faster.empty());
  record::ResultsFolder nothing = folder_with_peers();
  for (record::CellResult& result : nothing.results) {
    if (result.peer)
      result = test::without_time(std::move(result), record::Status::failed, "wrong");
  }
  EXPECT_EQ(report::plain_text(words_of(nothing).headline),
            "No other library has a time beside one of ours, so nothing can be compared.");
}

TEST(ReportPeers, ATableHasEveryLibraryForEveryShapeAndThreads) {
  const PeerWords words = words_of(folder_with_peers());
  ASSERT_EQ(words.by_threads.columns.size(), 6u);
  EXPECT_EQ(words.by_threads.columns[4].head, "steady");
  EXPECT_EQ(words.by_threads.columns[5].head, "rapid");
  ASSERT_EQ(words.by_threads.rows.size(), 3u);
  const std::string text = joined(words.by_threads);
  EXPECT_EQ(text.find("4 tokens, width 8, 2 heads|1|tbb/fused|1 ms|2.00 × ("), 0u) << text;
  EXPECT_NE(text.find("), slower|0.80 × ("), std::string::npos) << text;
  EXPECT_NE(text.find("), faster|\n"), std::string::npos) << text;
  EXPECT_NE(text.find("16 tokens, width 8, 2 heads|1|none has a time|-|5 ms|-|\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(words.cells.rows.size(), 6u) << joined(words.cells);
}

TEST(ReportPeers, NoneIsRecommended) {
  const record::ResultsFolder folder = folder_with_peers();
  const report::Findings findings = report::find_out(folder);
  const report::Conclusion conclusion = report::conclude(findings);
  EXPECT_EQ(report::plain_text(conclusion.headline), "Link tbb.");
  for (const std::string& text :
       {joined(conclusion.sentences), joined(conclusion.answers), joined(conclusion.every_shape)}) {
    EXPECT_EQ(text.find("rapid"), std::string::npos) << text;
    EXPECT_EQ(text.find("steady"), std::string::npos) << text;
  }
  EXPECT_EQ(conclusion.every_shape.rows.size(), 1u) << "the other shape has none of ours";
  for (const report::ShapeFindings& shape : findings.shapes) {
    for (const report::Contest& contest : shape.contests) {
      if (!contest.cell->peer) continue;
      EXPECT_FALSE(contest.leads());
      EXPECT_FALSE(contest.behind_fastest);
    }
  }
}

TEST(ReportPeers, TellVersionsSettingsAndEveryVariant) {
  const record::ResultsFolder folder = folder_with_peers();
  const std::string rows = joined(report::peer_rows(folder));
  EXPECT_NE(rows.find("steady|steady 2.1|mode plain|-|\n"), std::string::npos) << rows;
  EXPECT_NE(rows.find("rapid|rapid 1.0|precision f32; streams 1|rapid 1.0; numpy 2.0|\n"),
            std::string::npos)
      << rows;
  EXPECT_NE(rows.find("absent|not measured: not installed; install it with: pip install absent|"),
            std::string::npos)
      << rows;
  EXPECT_EQ(joined(report::peer_trials(folder)),
            "t1/B1_T4_D8_H2|rapid/fused|packed|plain 0.0009 s; packed 0.0008 s|\n"
            "t1/B1_T4_D8_H2|rapid/split|-|plain wrong result: 3|\n");
}

TEST(ReportPeers, ComeBeforeTheVerdictOnOurs) {
  const record::ResultsFolder folder = folder_with_peers();
  const std::string page = page_of(folder);
  const auto faster = page.find("<h1 id=\"peers-head\">Another library is faster");
  const auto place = page.find("<strong>0.80 ×</strong>");
  const auto verdict = page.find("<h2 id=\"headline\">Link <code>tbb</code>.</h2>");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(faster, place);
  EXPECT_LT(place, verdict);
  EXPECT_NE(page.find("<title>Another library is faster"), std::string::npos);
  const std::string text = markdown_of(folder);
  const auto written = text.find("# Another library is faster than the best of ours in 1 of 2");
  EXPECT_LT(written, text.find("\n- 4 tokens, width 8, 2 heads, on 1 thread: `rapid/fused`"));
  EXPECT_LT(text.find("**0.80 ×**"), text.find("\n## Link `tbb`."));
  for (const char* part : {"## Every cell of the other libraries", "## The other libraries",
                           "## How they were called", "precision f32; streams 1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(ReportPeers, AFolderWithoutThemSaysNothingOfThem) {
  record::ResultsFolder folder = test::sample_folder(
      "ours", {test::cell_of("tbb", Formulation::split, 4, 1, test::around(1))});
  EXPECT_FALSE(report::peer_words(report::find_out(folder)));
  EXPECT_EQ(page_of(folder).find("id=\"peers\""), std::string::npos);
  EXPECT_NE(page_of(folder).find("<h1 id=\"headline\">Link "), std::string::npos);
  EXPECT_EQ(markdown_of(folder).find("other librar"), std::string::npos);
  for (const nlohmann::ordered_json& strange :
       {nlohmann::ordered_json("x"), nlohmann::ordered_json::array({1}),
        nlohmann::ordered_json::object()}) {
    folder.environment["peers"] = strange;
    EXPECT_FALSE(report::peer_words(report::find_out(folder))) << strange;
  }
}

TEST(ReportPeers, StrangeAndHostileEntriesAreText) {
  constexpr const char* kMarkup = "<script>alert(1)</script>";
  record::ResultsFolder folder = folder_with_peers();
  folder.environment["peers"][kMarkup] = {
      {"version", kMarkup},
      {"settings", {kMarkup, nullptr, 3}},
      {"tried", {{kMarkup, {{kMarkup, {{"tried", kMarkup}, {"taken", 7}}}, {"b", 1}}}, {"c", 2}}}};
  folder.environment["peers"]["number"] = 5;
  const std::string page = page_of(folder);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos);
  EXPECT_EQ(markdown_of(folder).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace headroom::peers_test
