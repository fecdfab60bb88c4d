#include "judge/ranking.hpp"

#include <gtest/gtest.h>

#include "show/results_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::ranking_test {
namespace {

using test::sample_result;
using test::with_time;
using test::without_time;

constexpr double kWobbles[] = {1.000, 1.004, 0.997, 1.002, 0.999, 1.006, 1.001, 0.998, 1.003};

record::CellResult timed(const std::string& backend, double factor, double wobble = 1,
                         Formulation formulation = Formulation::split) {
  std::vector<double> samples;
  for (const double now : kWobbles) samples.push_back(1e-3 * factor * (1 + wobble * (now - 1)));
  return with_time(sample_result(backend, formulation), samples);
}

std::vector<const record::CellResult*> pointers(const std::vector<record::CellResult>& results) {
  std::vector<const record::CellResult*> all;
  for (const record::CellResult& result : results) all.push_back(&result);
  return all;
}

TEST(Ranking, TheFastestComesFirstWithAllThatNoiseMayHavePutBehindIt) {
  const std::vector<record::CellResult> results{
      timed("naive", 5), timed("onednn", 1.01, 60), timed("xsimd", 1.001), timed("tbb", 1),
      without_time(sample_result("autovec"), record::Status::failed, "wrong")};
  const auto shapes = rank(pointers(results), 0);
  ASSERT_EQ(shapes.size(), 1u);
  ASSERT_EQ(shapes[0].size(), 4u) << "cells without a time are not ranked";
  const char* order[] = {"tbb", "xsimd", "onednn", "naive"};
  const bool tied[] = {true, true, true, false};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(shapes[0][i].result->cell.backend, order[i]);
    EXPECT_EQ(shapes[0][i].tied(), tied[i]) << order[i];
  }
  EXPECT_EQ(shapes[0][1].to_best.verdict, Verdict::same);
  EXPECT_EQ(shapes[0][2].to_best.verdict, Verdict::not_distinguishable);
  EXPECT_NEAR(shapes[0][3].to_best.ratio, 5, 1e-9);
}

TEST(Ranking, TheNoiseFloorTiesWhatAQuietMachineWouldTellApart) {
  const std::vector<record::CellResult> results{timed("tbb", 1), timed("xsimd", 1.1)};
  EXPECT_FALSE(rank(pointers(results), 0)[0][1].tied());
  EXPECT_TRUE(rank(pointers(results), 0.2)[0][1].tied());
}

TEST(Ranking, ShapesHaveEachTheirOwnAndAreCorrectedTogether) {
  std::vector<record::CellResult> results{timed("tbb", 1), timed("xsimd", 2), timed("tbb", 2),
                                          timed("xsimd", 1)};
  for (std::size_t i = 2; i < 4; ++i) results[i].shape.tokens = 5;
  const auto shapes = rank(pointers(results), 0);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0][0].result->cell.backend, "tbb");
  EXPECT_EQ(shapes[1][0].result->cell.backend, "xsimd");
  // One of the two is the only claim: its p-value counts for two tests unless the other is as
  // small.
  results[3] = timed("xsimd", 1.999);
  results[3].shape.tokens = 5;
  const Difference difference = rank(pointers(results), 0)[0][1].to_best;
  EXPECT_DOUBLE_EQ(difference.corrected_p, 2 * difference.p);
}

TEST(Ranking, CellsOfOneControlAreComparedByIt) {
  std::vector<record::CellResult> results{timed("tbb", 1), timed("xsimd", 1.25)};
  results[0].control = record::Control{"avx2", 1, std::vector<double>(9, 100)};
  results[1].control = record::Control{"avx2", 1, std::vector<double>(9, 80)};
  const auto differences = compare_cells({{results.data(), &results[1]}});
  EXPECT_TRUE(differences[0].by_control);
  EXPECT_EQ(differences[0].difference.verdict, Verdict::same);
  EXPECT_NEAR(differences[0].raw_ratio, 1.25, 1e-9);
  results[1].control->threads = 2;
  EXPECT_FALSE(compare_cells({{results.data(), &results[1]}})[0].by_control);
}

TEST(Table, RanksNothingThatCannotBeToldApart) {
  std::vector<record::CellResult> results{timed("naive", 4), timed("tbb", 1.01, 60),
                                          timed("xsimd", 1),
                                          timed("tbb", 1.1, 60, Formulation::wrapper)};
  for (std::size_t i = 0; i < results.size(); ++i) results[i].cell.order = i;
  const std::string table = show::results_table(results);
  EXPECT_NE(table.find("not distinguishable, lowest median first: xsimd split (1), tbb split (1)"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("4.00x"), std::string::npos) << table;
  EXPECT_NE(table.find("n.d."), std::string::npos) << table;
  results.erase(results.begin() + 1);
  results.pop_back();
  EXPECT_NE(show::results_table(results).find("fastest: xsimd split (1)\n"), std::string::npos);
}

}  // namespace
}  // namespace headroom::judge::ranking_test
