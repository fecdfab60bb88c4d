// Roofs that were measured in a disturbed moment, on made-up records.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "judge/cautions.hpp"
#include "judge/credible_roofs.hpp"
#include "show/results_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::roofs_test {
namespace {

record::Peaks disturbed() {
  record::Peaks peaks{{Isa::avx2}};
  peaks.fma_gflops = {{1, 150}, {2, 293.7}};
  peaks.sustained_gflops = {{1, 149}, {2, 333.9}};
  peaks.tile_gflops = {{2, 250}};
  peaks.clock_ghz = {{1, 3.0}, {2, 2.0}};
  peaks.sustained_clock_ghz = {{2, 2.3}};
  return peaks;
}

// A cell with nine readings of its control.
record::CellResult beside(double gflops, double clock_ghz = 3.1, int threads = 2) {
  record::CellResult result =
      test::with_time(test::sample_result("tbb"), std::vector<double>(9, 1e-3));
  result.threads = result.cell.threads = threads;
  result.control =
      record::Control{"avx2", threads, std::vector<double>(9, gflops),
                      std::vector<double>(9, clock_ghz), std::vector<double>(9, 0.9 * gflops)};
  return result;
}

std::vector<record::CellResult> quiet() {
  return {beside(438, 3.05), beside(447), beside(455, 3.15), beside(450), beside(290, 2)};
}

TEST(Roofs, WhatLaterReadingsPassIsNoRoof) {
  const record::Peaks roofs = credible_roofs(disturbed(), quiet());
  EXPECT_DOUBLE_EQ(roofs.fma_gflops.at(2), 450) << "which another cell confirms";
  EXPECT_DOUBLE_EQ(roofs.tile_gflops.at(2), 0.9 * 450);
  EXPECT_DOUBLE_EQ(roofs.clock_ghz.at(2), 3.1) << "at the clock of that reading";
  EXPECT_FALSE(roofs.sustained_gflops.contains(2)) << "that was disturbed as well";
  EXPECT_DOUBLE_EQ(roofs.fma_gflops.at(1), 150) << "no cell ran on one thread";
  EXPECT_DOUBLE_EQ(roofs.sustained_gflops.at(1), 149);
}

TEST(Roofs, OneOutlierRaisesNone) {
  std::vector<record::CellResult> results(9, beside(294, 2));
  results.push_back(beside(900));
  EXPECT_DOUBLE_EQ(credible_roofs(disturbed(), results).fma_gflops.at(2), 333.9);
  record::CellResult spike = beside(294, 2);
  spike.control->gflops[3] = 900;
  EXPECT_DOUBLE_EQ(credible_roofs(disturbed(), {spike}).fma_gflops.at(2), 333.9);
}

TEST(Roofs, TheSustainedRateIsAReadingToo) {
  const record::Peaks roofs = credible_roofs(disturbed(), {});
  EXPECT_DOUBLE_EQ(roofs.fma_gflops.at(2), 333.9);
  EXPECT_DOUBLE_EQ(roofs.clock_ghz.at(2), 2.3);
}

TEST(Roofs, OnlyReadingsOfTheSameKindCount) {
  std::vector<record::CellResult> others(3, beside(900));
  others[0].control->isa = "avx512";
  others[1] = test::on_ranks(others[1], 2);
  others[2].control->gflops.resize(4);
  others[2].control->tile_gflops.clear();
  const record::Peaks roofs = credible_roofs(disturbed(), others);
  EXPECT_DOUBLE_EQ(roofs.fma_gflops.at(2), 333.9);
  EXPECT_DOUBLE_EQ(roofs.tile_gflops.at(2), 250);
}

TEST(Roofs, AQuietRunKeepsWhatItMeasured) {
  record::Peaks peaks = disturbed();
  peaks.fma_gflops[2] = 460;
  peaks.tile_gflops[2] = 430;
  const record::Peaks roofs = credible_roofs(peaks, quiet());
  EXPECT_EQ(to_json(roofs), to_json(peaks));
  EXPECT_TRUE(raised_words(peaks, roofs).empty());
}

TEST(Roofs, CautionsSayWhatWasRaisedAndGoByIt) {
  const std::vector<std::string> cautions = cautions_after(quiet(), 0, disturbed());
  std::string all;
  for (const std::string& caution : cautions) all += caution + "\n";
  EXPECT_NE(
      all.find("the roof of multiply-adds on 2 threads is 450.0 GFLOP/s, which later readings "
               "reached: before the first cell it was 293.7, in a disturbed moment"),
      std::string::npos)
      << all;
  EXPECT_NE(all.find("the roof of register tiles on 2 threads is 405.0"), std::string::npos) << all;
  EXPECT_NE(all.find("1 of 5 cells ran at another clock"), std::string::npos)
      << "all but one ran at that of the raised roof:\n"
      << all;
}

}  // namespace
}  // namespace headroom::judge::roofs_test
