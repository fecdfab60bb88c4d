// Threads that ran at the rate of fewer cores, and cells that are marked for it.
#include "judge/core_rate.hpp"

#include <gtest/gtest.h>

#include "show/results_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::core_rate_test {
namespace {

using test::sample_result;
using test::with_time;

record::CellResult on_threads(int threads, const std::vector<double>& gflops,
                              const std::vector<double>& clock_ghz = {}) {
  record::CellResult result =
      with_time(sample_result("tbb"), std::vector<double>(gflops.size(), 1e-3));
  result.threads = result.cell.threads = threads;
  result.control = record::Control{"avx2", threads, gflops, clock_ghz};
  return result;
}

record::Peaks roofs_of(double one_thread) {
  record::Peaks roofs;
  roofs.fma_gflops = {{1, one_thread}, {2, 2 * one_thread}};
  return roofs;
}

TEST(CoreRate, IsTheMedianReadingOverTheRateOfOneThread) {
  EXPECT_DOUBLE_EQ(core_rate(on_threads(2, {110, 110, 200}), roofs_of(100)).value(), 1.1);
  EXPECT_DOUBLE_EQ(core_rate(on_threads(4, {380, 390, 400}), roofs_of(100)).value(), 3.9);
}

TEST(CoreRate, IsUnknownWhereOneOfBothRatesIs) {
  EXPECT_FALSE(core_rate(on_threads(2, {110}), {}));
  EXPECT_FALSE(core_rate(on_threads(2, {110}), roofs_of(0))) << "0 means not measured";
  record::Peaks two_only;
  two_only.fma_gflops = {{2, 200}};
  EXPECT_FALSE(core_rate(on_threads(2, {110}), two_only));
  record::CellResult without = on_threads(2, {110});
  without.control.reset();
  EXPECT_FALSE(core_rate(without, roofs_of(100)));
  record::CellResult failed = on_threads(2, {110});
  failed.status = record::Status::failed;
  EXPECT_FALSE(core_rate(failed, roofs_of(100)));
  EXPECT_FALSE(core_rate(on_threads(1, {50}), roofs_of(100))) << "one thread shares with nobody";
}

TEST(CoreRate, ALowerClockOfAllCoresMakesThemNoFewer) {
  record::Peaks roofs = roofs_of(100);
  roofs.clock_ghz = {{1, 4.0}};
  const auto turbo = on_threads(8, {500, 500, 500}, {2.5, 2.5, 2.5});
  EXPECT_DOUBLE_EQ(core_rate(turbo, roofs).value(), 8);
  EXPECT_FALSE(too_few_cores(turbo, roofs));
  const auto shared = on_threads(8, {250, 250, 250}, {2.5, 2.5, 2.5});
  EXPECT_DOUBLE_EQ(too_few_cores(shared, roofs).value_or(0), 4);
  roofs.clock_ghz.clear();
  EXPECT_DOUBLE_EQ(core_rate(turbo, roofs).value(), 5) << "an old record";
}

// One core that two threads share halves the rate of all of them, whatever their number.
TEST(CoreRate, IsTooLowBelowTheMiddleOfHalfAndAll) {
  for (const int threads : {2, 3, 16}) {
    const double all = 100.0 * threads;
    EXPECT_FALSE(too_few_cores(on_threads(threads, {0.76 * all}), roofs_of(100))) << threads;
    EXPECT_TRUE(too_few_cores(on_threads(threads, {0.74 * all}), roofs_of(100))) << threads;
  }
}

TEST(CoreRate, IsSaidInWords) {
  EXPECT_EQ(core_rate_words(on_threads(2, {112}), 1.12), "2 threads ran at the rate of 1.1 cores");
  EXPECT_EQ(core_rate_words(test::on_ranks(on_threads(2, {112}), 4), 1.12),
            "2 threads of the leading rank ran at the rate of 1.1 cores");
}

TEST(Table, MarksTheCellsWhoseThreadsHadFewerCores) {
  const std::vector<record::CellResult> results{on_threads(2, {110, 110, 110})};
  const std::string marked = show::results_table(results, roofs_of(100));
  EXPECT_NE(marked.find("tbb      split      2*      1 ms"), std::string::npos) << marked;
  EXPECT_NE(marked.find("  * tbb split (2): 2 threads ran at the rate of 1.1 cores\n"),
            std::string::npos)
      << marked;
  for (const record::Peaks& roofs : {record::Peaks(), roofs_of(60)}) {
    const std::string plain = show::results_table(results, roofs);
    EXPECT_NE(plain.find("tbb      split      2       1 ms"), std::string::npos) << plain;
    EXPECT_EQ(plain.find('*'), std::string::npos) << plain;
  }
}

TEST(Table, SaysOfWhichRoofAShareIs) {
  std::vector<record::CellResult> results{on_threads(1, {100, 100, 100})};
  results[0].peak_fraction = 0.5;
  const std::string one = show::results_table(results);
  EXPECT_NE(one.find("of peak: share of the rate of multiply-adds in registers, measured right "
                     "before and after each sample\n"),
            std::string::npos)
      << one;
  EXPECT_EQ(one.find("tiles"), std::string::npos) << one;
  results[0].tile_fraction = 0.625;
  const std::string both = show::results_table(results);
  EXPECT_NE(both.find("  tbb split (1): 50.0 % of the multiply-adds, 62.5 % of register tiles "
                      "from the L1\n"),
            std::string::npos)
      << both;
  results[0].control.reset();
  EXPECT_NE(show::results_table(results).find("measured once, before the first cell\n"),
            std::string::npos);
  results[0].peak_fraction.reset();
  EXPECT_EQ(show::results_table(results).find("of peak:"), std::string::npos);
}

}  // namespace
}  // namespace headroom::judge::core_rate_test
