// Cells of several processes beside those of one: what they are compared with, and how they are
// shown.
#include <gtest/gtest.h>

#include "judge/compare.hpp"
#include "judge/noise.hpp"
#include "judge/peers.hpp"
#include "judge/ranking.hpp"
#include "show/results_table.hpp"
#include "support/sample_results.hpp"

namespace headroom::judge::ranks_test {
namespace {

using record::CellResult;
using test::on_ranks;
using test::sample_folder;
using test::sample_result;
using test::with_time;

CellResult timed(const std::string& backend, Formulation formulation, int ranks, double seconds) {
  std::vector<double> samples;
  for (const double wobble : {1.000, 1.004, 0.997, 1.002, 0.999, 1.006, 1.001, 0.998, 1.003}) {
    samples.push_back(seconds * wobble);
  }
  return on_ranks(with_time(sample_result(backend, formulation), samples), ranks);
}

CellResult controlled(CellResult result, double gflops) {
  result.control = record::Control{"avx2", 1, std::vector<double>(9, gflops)};
  return result;
}

std::vector<const CellResult*> pointers(const std::vector<CellResult>& results) {
  std::vector<const CellResult*> all;
  for (const CellResult& result : results) all.push_back(&result);
  return all;
}

TEST(RanksBesideOne, AreFasterThanTheBaselineInOneProcess) {
  const std::vector<CellResult> cells{timed("naive", Formulation::split, 2, 3e-3),
                                      timed("naive", Formulation::split, 1, 5e-3),
                                      timed("tbb", Formulation::split, 2, 1e-3)};
  EXPECT_EQ(baseline_of(pointers(cells), cells[2]), &cells[1]);
  EXPECT_EQ(baseline_of(pointers(cells), cells[0]), &cells[1]);
}

TEST(RanksBesideOne, AreFasterThanWrapperOnAsManyRanks) {
  const std::vector<CellResult> cells{
      timed("tbb", Formulation::wrapper, 1, 4e-3), timed("tbb", Formulation::wrapper, 2, 2e-3),
      timed("tbb", Formulation::split, 2, 1e-3), timed("tbb", Formulation::split, 4, 1e-3)};
  EXPECT_EQ(wrapper_of(pointers(cells), cells[2]), &cells[1]);
  EXPECT_EQ(wrapper_of(pointers(cells), cells[3]), nullptr);
}

TEST(RanksBesideOne, HaveAControlThatTheOthersMayDisturb) {
  const CellResult one = controlled(timed("tbb", Formulation::split, 1, 1e-3), 100);
  const CellResult two = controlled(timed("tbb", Formulation::split, 2, 1e-3), 50);
  EXPECT_FALSE(same_control(one, two));
  EXPECT_TRUE(same_control(two, two));
  const std::vector<ControlDrift> drifts = control_drift({one, two});
  ASSERT_EQ(drifts.size(), 2u) << "half the rate beside another rank is no drift of the machine";
  EXPECT_EQ(control_words(drifts[0]), "1 thread");
  EXPECT_EQ(control_words(drifts[1]), "1 thread of the leading one of 2 ranks");
  EXPECT_EQ(drifts[1].between, 0);
}

TEST(RanksBesideOne, AreComparedWithTheSameRanksOfAnotherRun) {
  const auto base = sample_folder("base", {timed("tbb", Formulation::split, 1, 1e-3),
                                           timed("tbb", Formulation::split, 2, 1e-3)});
  const auto next = sample_folder("next", {timed("tbb", Formulation::split, 2, 2e-3),
                                           timed("tbb", Formulation::split, 1, 1e-3)});
  const FolderComparison comparison = compare_folders(base, next, {});
  ASSERT_EQ(comparison.compared(), 2u);
  EXPECT_EQ(comparison.cells[0].difference->verdict, Verdict::same);
  EXPECT_EQ(comparison.cells[1].difference->verdict, Verdict::slower);
  EXPECT_EQ(comparison.cells[1].next->cell.ranks, 2);
}

TEST(RanksBesideOne, AreNotHeldAgainstAPeerOfOneProcess) {
  auto folder = sample_folder("folder", {timed("tbb", Formulation::split, 1, 4e-3),
                                         timed("tbb", Formulation::split, 4, 1e-3),
                                         timed("other", Formulation::split, 1, 2e-3)});
  folder.results[2].peer = true;
  folder.environment["sweep"]["compared_with"] = {folder.results[0].cell.id};
  const std::vector<PeerBlock> blocks = peer_blocks(folder);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].ours, folder.results.data());
}

TEST(RanksBesideOne, HaveAColumnOnlyWhereThereAreAny) {
  std::vector<CellResult> cells{timed("naive", Formulation::split, 1, 4e-3),
                                timed("naive", Formulation::split, 4, 1e-3)};
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i].cell.order = i;
  const std::string table = show::results_table(cells);
  for (const char* part :
       {"  backend  formul.  ranks thr  ", "  naive    split        4   1 ",
        "  fastest: naive split (4 ranks of 1)\n", "4.00x",
        "of several ranks: of as many times the rate on the leading one's threads\n"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
  cells.pop_back();
  EXPECT_EQ(show::results_table(cells).find("ranks"), std::string::npos);
}

}  // namespace
}  // namespace headroom::judge::ranks_test
