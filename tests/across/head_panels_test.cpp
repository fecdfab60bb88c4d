#include "across/head_panels.hpp"

#include <gtest/gtest.h>

#include "across/overview.hpp"
#include "support/head_cells.hpp"

namespace headroom::across::head_panels_test {
namespace {

using judge::Verdict;
using test::around;
using test::environment_of;
using test::head_cell;

constexpr auto kSplit = Formulation::split;
constexpr auto kWrapper = Formulation::wrapper;

using Heads = std::vector<std::int64_t>;

class HeadPanels : public test::Machines {
 protected:
  const std::vector<HeadPanel>& panels(const std::vector<Source>& sources) {
    collection_ = gather(sources);
    overview_ = look_over(collection_);
    return overview_.head_panels;
  }

  Collection collection_;
  Overview overview_;
};

void add_pair(std::vector<record::CellResult>& cells, const std::string& backend,
              std::int64_t heads, double factor, int threads = 1, std::int64_t width = 96) {
  cells.push_back(head_cell(backend, kWrapper, heads, around(factor * 1e-3), threads, width));
  cells.push_back(head_cell(backend, kSplit, heads, around(1e-3), threads, width));
}

TEST_F(HeadPanels, HaveWrapperOverSplitWithItsVerdict) {
  std::vector<record::CellResult> cells;
  add_pair(cells, "xsimd", 1, 1);
  add_pair(cells, "xsimd", 12, 0.7);
  add_pair(cells, "xsimd", 48, 2.5);
  add_pair(cells, "naive", 1, 1);
  cells.push_back(head_cell("naive", kWrapper, 12, around(1.05e-3, 0.2)));
  cells.push_back(head_cell("naive", kSplit, 12, around(1e-3, 0.2)));
  const auto& all = panels({{"", folder("a", cells, environment_of("Alpha"))}});
  ASSERT_EQ(all.size(), 1U);
  const HeadPanel& panel = all.front();
  EXPECT_TRUE(panel.one_width);
  EXPECT_EQ(panel.heads, (Heads{1, 12, 48}));
  EXPECT_EQ(panel.backends.size(), 2U);
  EXPECT_EQ(panel.shape().heads, 1);
  EXPECT_EQ(panel.at("xsimd", 1)->difference.verdict, Verdict::same);
  EXPECT_EQ(panel.at("xsimd", 12)->difference.verdict, Verdict::slower);
  EXPECT_EQ(panel.at("xsimd", 48)->difference.verdict, Verdict::faster);
  EXPECT_NEAR(panel.at("xsimd", 48)->factor(), 2.5, 1e-9);
  EXPECT_LT(panel.at("xsimd", 48)->factor_ci95().low, 2.5);
  EXPECT_GT(panel.at("xsimd", 48)->factor_ci95().high, 2.5);
  EXPECT_EQ(panel.at("naive", 12)->difference.verdict, Verdict::not_distinguishable);
  EXPECT_EQ(panel.at("naive", 48), nullptr);
}

TEST_F(HeadPanels, AreCorrectedWithAllOtherClaims) {
  std::vector<record::CellResult> cells;
  add_pair(cells, "xsimd", 1, 1);
  add_pair(cells, "xsimd", 12, 2);
  panels({{"", folder("a", cells, environment_of("Alpha"))}});
  EXPECT_EQ(overview_.comparisons, 2U);
}

TEST_F(HeadPanels, ShapesOfOtherTokensAreAnotherPanel) {
  std::vector<record::CellResult> cells;
  for (const std::int64_t tokens : {16, 8}) {
    for (const std::int64_t heads : {1, 4}) {
      for (const auto formulation : {kWrapper, kSplit}) {
        cells.push_back(head_cell("xsimd", formulation, heads, around(1e-3), 1, 96, tokens));
      }
    }
  }
  const auto& all = panels({{"", folder("a", cells, environment_of("Alpha"))}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].shape().tokens, 8);
  EXPECT_EQ(all[1].shape().tokens, 16);
}

TEST_F(HeadPanels, AFewHeadsMoreOrLessAreNoPanel) {
  std::vector<record::CellResult> cells;
  add_pair(cells, "xsimd", 16, 2);
  add_pair(cells, "xsimd", 24, 2);
  EXPECT_TRUE(panels({{"", folder("a", cells, environment_of("Alpha"))}}).empty());
}

TEST_F(HeadPanels, WithoutOneWidthHaveHeadsOfOneWidth) {
  std::vector<record::CellResult> cells;
  for (const std::int64_t heads : {1, 2, 3}) add_pair(cells, "xsimd", heads, 1, 1, 8 * heads);
  for (const std::int64_t heads : {1, 2}) add_pair(cells, "xsimd", heads, 1, 1, 10 * heads);
  const auto& all = panels({{"", folder("a", cells, environment_of("Alpha"))}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all.front().one_width);
  EXPECT_EQ(all.front().heads, (Heads{1, 2, 3}));
  // With it they are not shown.
  add_pair(cells, "xsimd", 8, 1, 1, 8);
  const auto& others = panels({{"", folder("b", cells, environment_of("Alpha"))}});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_TRUE(others.front().one_width);
  EXPECT_EQ(others.front().heads, (Heads{1, 8}));
}

TEST_F(HeadPanels, AreOfOneRunTheNewest) {
  std::vector<record::CellResult> first, second, third;
  add_pair(first, "xsimd", 1, 1);
  add_pair(first, "xsimd", 4, 3);
  add_pair(second, "xsimd", 1, 1);
  add_pair(second, "xsimd", 4, 2);
  add_pair(third, "xsimd", 1, 1);  // nothing to compare it with
  const auto at = [&](const char* name, const auto& cells, const char* day) {
    return Source{"", folder(name, cells, environment_of("Alpha", name, day))};
  };
  const auto& all = panels({at("aaaaaaaaaaaa", first, "2026-01-01T00:00:00Z"),
                            at("bbbbbbbbbbbb", second, "2026-02-01T00:00:00Z"),
                            at("cccccccccccc", third, "2026-03-01T00:00:00Z")});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(collection_.entries[all.front().entry].version, "0.1.0-bbbbbbbbbbbb");
  EXPECT_NEAR(all.front().at("xsimd", 4)->factor(), 2, 1e-9);
}

TEST_F(HeadPanels, WhatIsNotVerifiedOrNotWarmF32IsNotInThem) {
  std::vector<record::CellResult> cells;
  add_pair(cells, "xsimd", 1, 1);
  add_pair(cells, "xsimd", 4, 2);
  std::vector<record::CellResult> others;
  for (const char* backend : {"onednn", "tbb", "autovec", "auto"}) {
    add_pair(others, backend, 1, 1);
    add_pair(others, backend, 4, 2);
  }
  for (record::CellResult& cell : others) {
    if (cell.cell.backend == "onednn") cell = test::not_checked(cell);
    if (cell.cell.backend == "tbb") cell = test::computed_as(cell, Precision::bf16);
    if (cell.cell.backend == "autovec") cell = test::on_ranks(cell, 2);
    cells.push_back(cell);
  }
  const auto& all = panels({{"", folder("a", cells, environment_of("Alpha"))}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().backends, std::vector<std::string>{"xsimd"});
  for (record::CellResult& cell : cells) cell = test::cold(cell);
  EXPECT_TRUE(panels({{"", folder("cold", cells, environment_of("Alpha"))}}).empty());
}

TEST_F(HeadPanels, EachBackendIsOnItsFewestThreads) {
  std::vector<record::CellResult> cells;
  for (const std::int64_t heads : {1, 4}) {
    add_pair(cells, "xsimd", heads, 1);
    add_pair(cells, "tbb", heads, 1, 2);
    add_pair(cells, "onednn", heads, 1, 2);
    add_pair(cells, "onednn", heads, 3, 1);
  }
  const auto& all = panels({{"", folder("a", cells, environment_of("Alpha"))}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().fields.size(), 6U);
  EXPECT_EQ(all.front().at("tbb", 4)->split->threads, 2);
  EXPECT_EQ(all.front().at("onednn", 4)->split->threads, 1);
  EXPECT_NEAR(all.front().at("onednn", 4)->factor(), 3, 1e-9);
}

}  // namespace
}  // namespace headroom::across::head_panels_test
