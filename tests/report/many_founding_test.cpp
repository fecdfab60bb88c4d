// The founding question on the page of several machines: a panel for each machine that was asked.
#include <gtest/gtest.h>

#include "report/many/founding_question.hpp"
#include "support/head_cells.hpp"
#include "support/many_page.hpp"
#include "support/told.hpp"

namespace headroom::report::many_founding_test {
namespace {

using test::around;
using test::environment_of;
using test::head_cell;

// A store of two machines: one was asked, the other has heads of one width.
class ManyFounding : public test::ManyPage {
 protected:
  void SetUp() override {
    test::ManyPage::SetUp();
    std::vector<record::CellResult> asked, other;
    const auto add = [&](const char* backend, std::int64_t heads, double wrapper, double spread,
                         int threads = 1) {
      for (const auto& [formulation, factor] :
           {std::pair(test::kWrapper, wrapper), std::pair(test::kSplit, 1.0)}) {
        asked.push_back(
            head_cell(backend, formulation, heads, around(1e-3 * factor, spread), threads));
      }
    };
    add("xsimd", 1, 1, 0.001);
    add("xsimd", 12, 1.4, 0.001);
    add("xsimd", 48, 2.5, 0.001);
    add("tbb", 1, 1.05, 0.2, 2);
    add("tbb", 12, 0.7, 0.001, 2);
    for (const std::int64_t heads : {1, 2, 4}) {
      for (const auto formulation : {test::kWrapper, test::kSplit}) {
        other.push_back(head_cell("xsimd", formulation, heads, around(1e-3), 1, 8 * heads));
      }
    }
    folder("store/alpha/one", asked, environment_of("Alpha"));
    folder("store/beta/one", other, environment_of("Beta"));
    look({{"", path_ / "store"}});
  }
};

TEST_F(ManyFounding, IsTheFirstSectionOfThePage) {
  const std::size_t first = page_.find("<section id=\"founding-question\"");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page_.find("<section", page_.find("</section>")), first);
  EXPECT_LT(page_.find("<h1"), first);
  EXPECT_LT(first, page_.find("<section id=\"answer\""));
  EXPECT_LT(page_.find("<a href=\"#founding-question\">"), page_.find("<a href=\"#answer\">"));
  const std::string text = many_markdown(overview_, {});
  EXPECT_EQ(text.find("\n## "), text.find(std::string("\n## ") + kFoundingHead + "\n"));
}

TEST_F(ManyFounding, APanelHasAColourOrGreyForEachVerdict) {
  for (const char* field :
       {"<td class=\"level\">1.00</td>", "<td class=\"won-2\"><strong>1.40</strong></td>",
        "<td class=\"won-3\"><strong>2.50</strong></td>", "<td class=\"unclear\">1.05</td>",
        "<td class=\"lost-2\"><strong>0.70</strong></td>", "<td>-</td>"}) {
    EXPECT_NE(page_.find(field), std::string::npos) << field;
  }
  EXPECT_NE(page_.find("<caption>8 tokens, width 96</caption>"), std::string::npos);
  EXPECT_NE(page_.find("<th scope=\"row\"><code>tbb</code>, 2 threads</th>"), std::string::npos);
}

TEST_F(ManyFounding, TheTableSaysTheSameWithoutColours) {
  const Table table = factor_table(overview_.head_panels.at(0));
  EXPECT_EQ(test::row_text(table, 0), "tbb, 2 threads | (1.05) | 0.70 | -");
  EXPECT_EQ(test::row_text(table, 1), "xsimd, 1 thread | 1.00 | 1.40 | 2.50");
  EXPECT_NE(many_markdown(overview_, {})
                .find("| heads | 1 | 12 | 48 |\n|---|--:|--:|--:|\n"
                      "| `tbb`, 2 threads | (1.05) | **0.70** | - |\n"
                      "| `xsimd`, 1 thread | 1.00 | **1.40** | **2.50** |\n"),
            std::string::npos);
}

TEST_F(ManyFounding, EachFieldIsListedWithItsInterval) {
  const Table table = field_table(overview_.head_panels.at(0));
  ASSERT_EQ(table.rows.size(), 5U);
  const std::string row = test::row_text(table, 4);
  EXPECT_TRUE(row.starts_with("xsimd, 1 thread | 48 | 2.5 ms | 1 ms | 2.50 × | ")) << row;
  EXPECT_TRUE(row.ends_with(" | faster")) << row;
}

TEST_F(ManyFounding, AMachineWithoutTheRunSaysWhatAddsIt) {
  const std::string& beta = collection_.machines.at(1).name;
  const std::string text = many_markdown(overview_, {});
  EXPECT_NE(text.find("\nNot measured at one width on **" + beta + "**. A run of"),
            std::string::npos);
  EXPECT_NE(text.find(std::string("`") + kFoundingCommand + "`"), std::string::npos);
  EXPECT_NE(text.find("\n8 tokens, heads of 8, 1 thread:\n"), std::string::npos);
  EXPECT_NE(page_.find("<caption>8 tokens, heads of 8, 1 thread</caption>"), std::string::npos);
  EXPECT_NE(page_.find(kFoundingCommand), std::string::npos);
  // Whoever has it is not asked again.
  look({{"", path_ / "store/alpha/one"}});
  EXPECT_EQ(page_.find("Not measured at one width"), std::string::npos);
}

}  // namespace
}  // namespace headroom::report::many_founding_test
