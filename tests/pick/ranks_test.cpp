// pick on folders that have cells of several processes.
#include <gtest/gtest.h>

#include "headroom/error.hpp"
#include "pick/pick.hpp"
#include "support/sample_results.hpp"

namespace headroom {
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

}  // namespace
}  // namespace headroom
