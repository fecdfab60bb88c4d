// The roofs of cells of several processes: those of one rank, as many times as there are ranks.
#include <gtest/gtest.h>

#include "measure/group/cell_result.hpp"
#include "measure/group/check.hpp"
#include "measure/roofs.hpp"
#include "processor/cores.hpp"
#include "support/sample_results.hpp"

namespace headroom::measure::ranks_test {
namespace {

using test::on_ranks;
using test::sample_result;
using test::with_time;

record::CellResult rated(int ranks, record::CellResult result, const record::Peaks& peaks = {}) {
  result = on_ranks(std::move(result), ranks);
  rate_samples(result, peaks, 1);
  return result;
}

record::CellResult sampled() { return with_time(sample_result("tbb"), {1e-3, 1e-3, 1e-3}); }

TEST(RanksUnderRoofs, AreSoManyTimesTheControlOfTheLeadingOne) {
  record::CellResult result = sampled();
  result.control = record::Control{"avx2", 1, {0.01, 0.01, 0.01}, {}, {0.008, 0.008, 0.008}};
  const record::CellResult one = rated(1, result);
  const record::CellResult four = rated(4, result);
  EXPECT_EQ(four.gflops, one.gflops) << "of the whole layer";
  EXPECT_DOUBLE_EQ(four.peak_fraction.value(), one.peak_fraction.value() / 4);
  EXPECT_DOUBLE_EQ(four.tile_fraction.value(), one.tile_fraction.value() / 4);
}

TEST(RanksUnderRoofs, AreSoManyTimesThePeakWithoutAControl) {
  record::Peaks peaks;
  peaks.fma_gflops = {{1, 100}};
  peaks.product_gflops[{Precision::bf16, Dtype::f32}] = {{1, 200}};
  record::CellResult result = sampled();
  EXPECT_DOUBLE_EQ(rated(2, result, peaks).peak_fraction.value(),
                   rated(1, result, peaks).peak_fraction.value() / 2);
  result.cell.numbers.precision = Precision::bf16;
  EXPECT_DOUBLE_EQ(rated(2, result, peaks).peak_fraction.value(),
                   rated(1, result, peaks).peak_fraction.value() / 2);
}

TEST(RanksUnderRoofs, ReadNoFasterThanTheCoresOfThisMachine) {
  EXPECT_EQ(reading_threads(1, allowed_cores() + 5), allowed_cores() + 5) << "as ever";
  EXPECT_EQ(reading_threads(2, allowed_cores()), allowed_cores());
  EXPECT_EQ(reading_threads(2, 1), std::min(2, allowed_cores()));
  EXPECT_EQ(reading_threads(4096, 4096), allowed_cores());
}

TEST(RanksUnderRoofs, ShareTheReadBandwidthOfTheMachine) {
  record::CellResult result = sampled();
  result.shape.tokens = 1;
  const std::int64_t bytes = record::size_class(result.shape.bytes().weights);
  record::Peaks peaks;
  peaks.read_gbs_of_set[std::min(2, allowed_cores())][bytes] = 10;
  const record::CellResult two = rated(2, result, peaks);
  ASSERT_TRUE(two.reading);
  EXPECT_DOUBLE_EQ(two.reading->fraction.value_or(0), two.reading->gbps / 10);
  EXPECT_FALSE(rated(2, result, {}).reading->fraction) << "not measured";
}

TEST(Phases, AddUpWithTheSumOfTheRanks) { EXPECT_EQ(total({1, 2, 4, 8}), 15); }

}  // namespace
}  // namespace headroom::measure::ranks_test
