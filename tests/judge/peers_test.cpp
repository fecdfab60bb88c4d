// Other libraries are shown beside ours, and are never a baseline, a winner or a regression of
// ours.
#include "judge/peers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "judge/compare.hpp"
#include "show/comparison_table.hpp"
#include "show/results_table.hpp"
#include "support/sample_peers.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::judge::peers_test {
namespace {

using test::folder_with_peers;

std::vector<PeerBlock> compared(const record::ResultsFolder& folder) {
  std::vector<PeerBlock> blocks = peer_blocks(folder);
  Comparisons comparisons;
  compare_peers(blocks, comparisons);
  comparisons.run();
  return blocks;
}

TEST(Peers, StandBesideTheBestOfOursOnAsManyThreads) {
  const record::ResultsFolder folder = folder_with_peers();
  const std::vector<PeerBlock> blocks = compared(folder);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].threads(), 1);
  EXPECT_EQ(blocks[0].ours->cell.id, "fused/tbb/f32/t1/B1_T4_D8_H2");
  ASSERT_EQ(blocks[0].peers.size(), 3u);
  EXPECT_EQ(blocks[0].peers[0].cell->cell.backend, "rapid") << "the fastest first";
  EXPECT_EQ(blocks[0].peers[1].cell->cell.backend, "steady");
  EXPECT_FALSE(blocks[0].peers[2].cell->has_time()) << "those without a time last";
  EXPECT_EQ(blocks[1].ours->cell.id, "fused/tbb/f32/t2/B1_T4_D8_H2");
  EXPECT_EQ(blocks[2].ours, nullptr);
  EXPECT_EQ(blocks[2].shape().tokens, 16);
}

// By the compared samples another one of ours may be faster: it was not chosen.
TEST(Peers, StandBesideTheOneThatWasChosenBefore) {
  record::ResultsFolder folder = folder_with_peers();
  folder.environment["sweep"]["compared_with"] = {"split/xsimd/f32/t1/B1_T4_D8_H2", 7};
  const std::vector<PeerBlock> blocks = compared(folder);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].ours->cell.id, "split/xsimd/f32/t1/B1_T4_D8_H2");
  EXPECT_EQ(blocks[1].ours, nullptr);
  EXPECT_FALSE(blocks[1].peers.front().to_ours);
}

TEST(Peers, AreFasterOnlyWhereTheSamplesSaySo) {
  const record::ResultsFolder folder = folder_with_peers();
  const std::vector<PeerBlock> blocks = compared(folder);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_TRUE(blocks[0].peers[0].is(Verdict::faster));
  EXPECT_NEAR(blocks[0].peers[0].to_ours->difference.ratio, 0.8, 1e-9);
  EXPECT_TRUE(blocks[0].peers[1].is(Verdict::slower));
  EXPECT_FALSE(blocks[0].peers[2].to_ours) << "it has no time";
  EXPECT_FALSE(blocks[1].any(Verdict::faster));
  EXPECT_TRUE(blocks[1].any(Verdict::same));
  EXPECT_FALSE(blocks[2].peers[0].to_ours) << "there is none of ours";
}

TEST(Peers, AreShownByTheFormulationThatComesClosest) {
  const record::ResultsFolder folder = folder_with_peers();
  const std::vector<PeerBlock> blocks = compared(folder);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].best_of("rapid")->cell->cell.formulation, Formulation::fused);
  EXPECT_EQ(blocks[2].best_of("rapid"), nullptr);
  EXPECT_EQ(blocks[0].best_of("nobody"), nullptr);
}

class PeersOnDisk : public test::TemporaryFolder {};

TEST_F(PeersOnDisk, AreKnownByTheEnvironmentOfTheFolder) {
  test::write_sample_folder(path_, test::cells_with_peers(), test::environment_with_peers());
  const record::ResultsFolder folder = record::read_results_folder(path_);
  for (const record::CellResult& result : folder.results) {
    const std::string& name = result.cell.backend;
    EXPECT_EQ(result.peer, name == "rapid" || name == "steady") << name;
  }
  EXPECT_EQ(peer_names(folder), (std::vector<std::string>{"steady", "rapid"}));
  for (const nlohmann::ordered_json& strange :
       {nlohmann::ordered_json("rapid"), nlohmann::ordered_json::array({"rapid"})}) {
    record::ResultsFolder other = test::sample_folder("other", test::cells_with_peers());
    other.environment["peers"] = strange;
    mark_peers(other);
    EXPECT_TRUE(peer_blocks(other).empty()) << strange;
    EXPECT_TRUE(peer_names(other).empty()) << strange;
  }
}

TEST(Peers, AreNotRankedAmongOurs) {
  const record::ResultsFolder folder = folder_with_peers();
  std::vector<const record::CellResult*> all;
  for (const record::CellResult& result : folder.results) all.push_back(&result);
  const auto shapes = rank(all, 0);
  ASSERT_EQ(shapes.size(), 1u) << "the other shape has none of ours";
  for (const Ranked& ranked : shapes[0]) EXPECT_FALSE(ranked.result->peer);
  EXPECT_EQ(shapes[0].front().result->cell.id, "fused/tbb/f32/t2/B1_T4_D8_H2");
  const std::string table = show::results_table(folder.results);
  EXPECT_NE(table.find("fastest: tbb fused (2)\n"), std::string::npos) << table;
}

TEST(Peers, AreNoBaseline) {
  std::vector<record::CellResult> results{
      test::cell_of("other", Formulation::wrapper, 4, 1, {2e-3}),
      test::cell_of("other", Formulation::split, 4, 1, {1e-3}),
      test::cell_of("naive", Formulation::split, 4, 1, {1e-3})};
  const std::vector<const record::CellResult*> rivals{&results[0], &results[1], &results[2]};
  EXPECT_EQ(wrapper_of(rivals, results[1]), &results[0]);
  EXPECT_EQ(baseline_of(rivals, results[1]), &results[2]);
  for (record::CellResult& result : results) result.peer = true;
  EXPECT_EQ(wrapper_of(rivals, results[1]), nullptr);
  EXPECT_EQ(baseline_of(rivals, results[1]), nullptr);
}

TEST(Peers, ThatGotSlowerAreNoRegressionOfOurs) {
  const record::ResultsFolder base = folder_with_peers();
  record::ResultsFolder next = folder_with_peers();
  for (record::CellResult& result : next.results) {
    if (result.cell.id == "fused/rapid/f32/t1/B1_T4_D8_H2" ||
        result.cell.id == "fused/tbb/f32/t1/B1_T4_D8_H2") {
      result = test::with_time(std::move(result), test::around(4e-3));
    }
    if (result.cell.id == "fused/steady/f32/t1/B1_T4_D8_H2") {
      result = test::without_time(std::move(result), record::Status::crashed, "gone");
    }
  }
  const FolderComparison comparison = compare_folders(base, next, {});
  EXPECT_EQ(comparison.count(Verdict::slower), 2u);
  EXPECT_EQ(comparison.regressions(), 1u);
  const std::string table = show::comparison_table(comparison);
  EXPECT_NE(table.find("slower (peer)\n"), std::string::npos) << table;
  EXPECT_NE(table.find("7 cells of peers, which are no regressions of ours"), std::string::npos)
      << table;
  EXPECT_EQ(show::to_json(comparison)["cells"][0]["peer"], false);
  const auto cells = show::to_json(comparison)["cells"];
  EXPECT_EQ(std::count_if(cells.begin(), cells.end(), [](const auto& c) { return c["peer"]; }), 7);
}

}  // namespace
}  // namespace headroom::judge::peers_test
