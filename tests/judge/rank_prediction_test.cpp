// What more ranks should take: every number here is computed by hand.
#include "judge/rank_prediction.hpp"

#include <gtest/gtest.h>

#include "judge/rank_series.hpp"
#include "show/rank_tables.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::rank_prediction_test {
namespace {

using record::CellResult;
using record::Link;
using test::on_ranks;

// Eight query heads share four key heads. y is 100 x 1000 floats, 400 kB.
Case grouped() {
  Case shape;
  shape.tokens = 100;
  shape.d_in = shape.d_out = shape.d_proj = 1000;
  shape.heads = 8;
  shape.kv_heads = 4;
  return shape;
}

constexpr PhaseTimes kPhases{8e-3, 4e-3, 2e-3};
constexpr Link kLink{1e-6, 1e9};

double predicted(int ranks, const PhaseTimes& phases = kPhases, const Link& link = kLink) {
  return predict_seconds(grouped(), phases, ranks, link);
}

TEST(RankPrediction, IsForPowersOfTwoUpTo64) {
  EXPECT_EQ(predicted_ranks(), (std::vector<int>{1, 2, 4, 8, 16, 32, 64}));
}

TEST(RankPrediction, OfOneRankIsItsPhasesWithoutASum) {
  EXPECT_DOUBLE_EQ(predicted(1), 14e-3);
  EXPECT_EQ(sum_seconds(grouped(), 1, kLink), 0);
}

TEST(RankPrediction, DividesByTheKeyHeadsAndAddsTheSum) {
  // Half the heads; 2 * 1/2 * 400 kB at 1 GB/s; one step each way.
  EXPECT_NEAR(predicted(2), 7e-3 + 0.4e-3 + 2e-6, 1e-12);
  // A quarter; 2 * 3/4 of the bytes; two steps each way.
  EXPECT_NEAR(predicted(4), 3.5e-3 + 0.6e-3 + 4e-6, 1e-12);
}

TEST(RankPrediction, TheRankWithMostHeadsDecides) {
  // Two of the four key heads are with one of three ranks. ceil(log2 3) is 2.
  EXPECT_NEAR(predicted(3), 7e-3 + 2 * 2.0 / 3 * 0.4e-3 + 4e-6, 1e-12);
  // Two key heads are divided over two ranks each, the other two are with one.
  EXPECT_NEAR(predicted(6), 3.5e-3 + 2 * 5.0 / 6 * 0.4e-3 + 6e-6, 1e-12);
}

TEST(RankPrediction, BeyondTheKeyHeadsTheirWorkIsRepeated) {
  // Half of the projections' work is that of queries, of which a rank has one head of eight; it
  // has one of four key heads: 8 ms * (1/16 + 1/8). Of the rest it has an eighth.
  EXPECT_NEAR(predicted(8), 1.5e-3 + 0.75e-3 + 2 * 7.0 / 8 * 0.4e-3 + 6e-6, 1e-12);
  // Eight of the sixteen have nothing to do but to wait for the sum.
  EXPECT_NEAR(predicted(16), 2.25e-3 + 2 * 15.0 / 16 * 0.4e-3 + 8e-6, 1e-12);
}

TEST(RankPrediction, QueriesAndKeysMayComeFromInputsOfDifferentSize) {
  Case shape = grouped();
  shape.d_memory = 500;
  shape.memory_tokens = 200;
  shape.causal = false;
  // Queries 100 x 1000 x 1000, keys and values 200 x 500 x 1000: half of the work again.
  EXPECT_NEAR(predict_seconds(shape, {8e-3, 0, 0}, 8, {0, 1e30}), 1.5e-3, 1e-12);
  shape.memory_tokens = 600;
  EXPECT_NEAR(predict_seconds(shape, {8e-3, 0, 0}, 8, {0, 1e30}), 8e-3 * (0.25 / 8 + 0.75 / 4),
              1e-12);
}

TEST(RankPrediction, ALinkIsFoundFromTheSumsThatItTakes) {
  for (const int ranks : {2, 3, 8}) {
    Case large = grouped();
    const double bytes =
        4.0 * static_cast<double>(large.rows()) * static_cast<double>(large.output_width());
    const record::Link link{3e-6, 2e9};
    const double full = sum_seconds(large, ranks, link);
    const double brief = full - sum_seconds(large, ranks, {0, 2e9});
    const record::Link found = link_of_sums(ranks, brief, bytes, full);
    EXPECT_NEAR(found.latency_s, link.latency_s, 1e-12) << ranks;
    EXPECT_NEAR(found.bytes_per_s, link.bytes_per_s, 1) << ranks;
  }
}

TEST(RankPrediction, ASlowLinkMakesMoreRanksSlower) {
  EXPECT_GT(predicted(2, kPhases, {1e-6, 1e7}), predicted(1));
  EXPECT_GT(predicted(64, {1e-6, 1e-6, 1e-6}, {1e-3, 1e12}),
            predicted(2, {1e-6, 1e-6, 1e-6}, {1e-3, 1e12}));
}

CellResult timed(const char* backend, int ranks, double seconds) {
  CellResult result = test::with_time(test::sample_result(backend), std::vector(9, seconds));
  result.shape = grouped();
  result.phases = kPhases;
  return on_ranks(result, ranks);
}

std::vector<const CellResult*> pointers(const std::vector<CellResult>& results) {
  std::vector<const CellResult*> all;
  for (const CellResult& result : results) all.push_back(&result);
  return all;
}

TEST(RankSeries, TakesWhatRanksMadeFastest) {
  const std::vector<CellResult> cells{timed("naive", 1, 20e-3), timed("naive", 2, 11e-3),
                                      timed("tbb", 1, 14e-3), timed("tbb", 3, 8e-3),
                                      timed("onednn", 1, 10e-3)};
  const std::vector<RankSeries> series = rank_series(pointers(cells), kLink);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].one, &cells[2]);
  ASSERT_EQ(series[0].rows.size(), 8u) << "1 to 64, and 3";
  EXPECT_EQ(series[0].rows[0].measured, &cells[2]);
  EXPECT_EQ(series[0].rows[1].measured, nullptr) << "naive was measured on 2";
  EXPECT_EQ(series[0].rows[2].ranks, 3);
  EXPECT_EQ(series[0].rows[2].measured, &cells[3]);
  EXPECT_DOUBLE_EQ(series[0].rows[2].predicted, predicted(3));
}

// Two threads on one rank take both cores of a machine; two ranks of two threads share them.
TEST(RankSeries, PrefersThreadsThatLeaveCoresToOtherRanks) {
  std::vector<CellResult> cells{timed("tbb", 1, 8e-3), timed("tbb", 2, 8.1e-3),
                                timed("tbb", 1, 14e-3), timed("tbb", 2, 7.5e-3)};
  for (CellResult* two : {&cells[0], &cells[1]}) two->threads = two->cell.threads = 2;
  const std::vector<RankSeries> series = rank_series(pointers(cells), kLink);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].one, &cells[2]);
}

TEST(RankSeries, NeedsBothOneRankAndSeveralWithATime) {
  std::vector<CellResult> cells{timed("tbb", 2, 8e-3), timed("tbb", 1, 14e-3)};
  cells[1].threads = cells[1].cell.threads = 2;
  EXPECT_TRUE(rank_series(pointers(cells), kLink).empty()) << "on as many threads";
  cells[1].threads = cells[1].cell.threads = 1;
  EXPECT_EQ(rank_series(pointers(cells), kLink).size(), 1u);
  cells[0] = test::without_time(cells[0], record::Status::failed, "wrong");
  EXPECT_TRUE(rank_series(pointers(cells), kLink).empty());
}

TEST(RankTables, SayWhatIsPredictedAndByWhat) {
  const std::vector<CellResult> cells{timed("tbb", 1, 14e-3), timed("tbb", 2, 8.4e-3)};
  record::Peaks roofs;
  EXPECT_EQ(show::rank_tables(cells, roofs), "") << "the link is not known";
  roofs.link = kLink;
  const std::string text = show::rank_tables(cells, roofs);
  const char* prediction =
      "  prediction: by the phases of one rank, divided as the heads are, and a sum over links of "
      "1 us and 1.0 GB/s (Thakur, ";
  for (const char* part : {"\nB1_T100_D1000_H8_K4  ranks of tbb split on 1 thread each\n",
                           prediction, "  ranks    measured   predicted  of one rank\n",
                           "      1       14 ms       14 ms        100 %\n",
                           "      2      8.4 ms    7.402 ms         60 %\n",
                           "      4           -    4.104 ms        ~29 %\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(show::rank_tables({cells[0]}, roofs), "") << "nothing on several ranks";
  EXPECT_EQ(text.find("more than 100 %"), std::string::npos) << text;
  const std::string slower = show::rank_tables({cells[0], timed("tbb", 2, 15e-3)}, roofs);
  EXPECT_NE(slower.find("107 %\n"), std::string::npos) << slower;
  EXPECT_NE(slower.find("; more than 100 %: the sum and the waiting cost more"), std::string::npos)
      << slower;
}

}  // namespace
}  // namespace headroom::judge::rank_prediction_test
