// No share above 100 % without its reason.
#include "show/shares.hpp"

#include <gtest/gtest.h>

#include "show/results_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::show::shares_test {
namespace {

record::CellResult with_peak(double share, Precision precision = Precision::f32) {
  record::CellResult result =
      test::with_time(test::sample_result("tbb"), std::vector<double>(9, 1e-3));
  result.cell.numbers.precision = precision;
  result.control = record::Control{"avx2", 1, std::vector<double>(9, 100)};
  result.peak_fraction = share;
  return result;
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in:\n" << text;
}

TEST(Shares, AreMarkedWhereMoreThan100PercentIsShown) {
  Shares shares;
  EXPECT_EQ(shares.text(1.0004, Limit::memory, 1), "100.0 %");
  EXPECT_EQ(shares.text(1.004, Limit::memory), "100 %");
  EXPECT_TRUE(shares.reasons().empty());
  EXPECT_EQ(shares.text(1.0006, Limit::memory, 1), "100.1 %^");
  EXPECT_EQ(shares.text(1.04, Limit::memory), "104 %^");
  ASSERT_EQ(shares.reasons().size(), 1u) << "one limit";
  EXPECT_TRUE(shares.reasons()[0].starts_with("^ more than 100 %: part of the data came from"));
  shares.text(1.5, Limit::products);
  EXPECT_EQ(shares.reasons().size(), 2u);
}

TEST(Shares, EachLimitHasAnotherReason) {
  EXPECT_EQ(arithmetic_limit(with_peak(1)), Limit::beside);
  EXPECT_EQ(arithmetic_limit(with_peak(1, Precision::bf16)), Limit::products);
  record::CellResult old = with_peak(1);
  old.control.reset();
  EXPECT_EQ(arithmetic_limit(old), Limit::once);
  std::set<std::string_view> reasons;
  for (const Limit limit : {Limit::beside, Limit::once, Limit::products, Limit::memory}) {
    reasons.insert(why_above(limit));
  }
  EXPECT_EQ(reasons.size(), 4u);
}

TEST(Shares, OfATableAreMarkedInTheirColumnAndExplainedBelow) {
  const std::string plain = results_table({with_peak(0.97)});
  EXPECT_EQ(plain.find('^'), std::string::npos) << plain;
  const std::string text = results_table({with_peak(1.04), with_peak(1.5, Precision::bf16)});
  expect_part(text, " 104.0 %^ ");
  expect_part(text, " 150.0 %^ ");
  expect_part(text, "\n^ more than 100 %: the multiply-adds or tiles beside the samples were");
  expect_part(text, "\n^ more than 100 %: the machine was slower when products of that precision");
  // The mark moves no column.
  EXPECT_EQ(text.substr(text.find("%^ ")).find("1.5e-07"),
            plain.substr(plain.find("97.0 %") + 5).find("1.5e-07"));
}

TEST(Shares, OfTilesAndOfReadingAreMarkedToo) {
  record::CellResult result = with_peak(0.95);
  result.tile_fraction = 1.01;
  result.reading = record::Reading{std::int64_t{20} << 20, 30, 1.2};
  const std::string text = results_table({result});
  expect_part(text, "95.0 % of the multiply-adds, 101.0 %^ of register tiles");
  expect_part(text, "at 30.0 GB/s, 120.0 %^ of what 1 thread reads at that size; memory binds");
  expect_part(text, "\n^ more than 100 %: the multiply-adds or tiles beside");
  expect_part(text, "\n^ more than 100 %: part of the data came from a nearer cache");
}

}  // namespace
}  // namespace headroom::show::shares_test
