// pick on folders that have cells which it cannot judge: of several processes, of attention alone.
#include <gtest/gtest.h>

#include "headroom/error.hpp"
#include "pick/pick.hpp"
#include "support/sample_results.hpp"

namespace headroom::ranks_test {
namespace {

using record::CellResult;
using test::on_ranks;
using test::sample_folder;

CellResult timed(const char* backend, int ranks, double seconds) {
  const std::vector<double> samples(9, seconds);
  return on_ranks(test::with_time(test::sample_result(backend), samples), ranks);
}

TEST(PickBesideRanks, ChoosesAmongCellsOfOneProcessAndSaysSo) {
  const auto folder = sample_folder(
      "folder", {timed("naive", 4, 1e-3), timed("naive", 1, 4e-3), timed("autovec", 1, 2e-3)});
  const pick::Pick chosen = pick::pick(folder, {}, {});
  EXPECT_EQ(chosen.choice().backend, "autovec");
  EXPECT_EQ(chosen.shapes.at(0).candidates.size(), 2u);
  EXPECT_EQ(pick::left_out_ranks(folder),
            "1 cell of several ranks was not judged: a program is linked as one process, so the "
            "choice is among cells of one rank");
}

TEST(PickBesideRanks, SaysNothingWithoutAny) {
  EXPECT_EQ(pick::left_out_ranks(sample_folder("folder", {timed("naive", 1, 1e-3)})), "");
}

TEST(PickBesideRanks, RefusesAFolderOfNothingElse) {
  const auto folder = sample_folder("folder", {timed("naive", 2, 1e-3), timed("naive", 4, 1e-3)});
  try {
    pick::pick(folder, {}, {});
    FAIL() << "taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("only cells of several ranks"), std::string::npos);
  }
}

CellResult alone(const char* backend, double seconds) {
  CellResult result = timed(backend, 1, seconds);
  result.shape.d_in = result.shape.d_proj = 0;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

TEST(PickBesideAttentionAlone, ChoosesAmongLayersAndSaysSo) {
  const auto folder =
      sample_folder("folder", {alone("autovec", 1e-4), timed("naive", 1, 4e-3), alone("naive", 1)});
  EXPECT_EQ(pick::pick(folder, {}, {}).shapes.size(), 1u);
  EXPECT_EQ(pick::pick(folder, {}, {}).choice().backend, "naive");
  EXPECT_EQ(pick::left_out_attention(folder),
            "2 cells of attention alone were not judged: pick chooses for layers");
}

TEST(PickBesideAttentionAlone, RefusesAFolderOfNothingElse) {
  try {
    pick::pick(sample_folder("folder", {alone("naive", 1e-3)}), {}, {});
    FAIL() << "taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("only cells of attention alone"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace headroom::ranks_test
