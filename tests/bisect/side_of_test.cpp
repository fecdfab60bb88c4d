// To which end a commit belongs, by times that nobody measured.
#include "bisect/side_of.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/sample_results.hpp"

namespace headroom::bisect::side_of_test {
namespace {

using record::CellResult;
using test::around;
using test::sample_result;
using test::with_time;

const std::string kTbb = sample_result("tbb").cell.id;
const std::string kXsimd = sample_result("xsimd").cell.id;

// Two rounds in which tbb and xsimd take these milliseconds.
Rounds rounds_of(double tbb, double xsimd, double step = 0.001) {
  Rounds rounds;
  for (int i = 0; i < 2; ++i) {
    rounds.push_back(test::sample_folder(
        "round", {with_time(sample_result("tbb"), around(1e-3 * tbb, step)),
                  with_time(sample_result("xsimd"), around(1e-3 * xsimd, step))}));
  }
  return rounds;
}

TEST(SideOf, EndsDifferInTheCellsThatBecameSlower) {
  const EndsDifference ends = compare_ends(rounds_of(1, 1), rounds_of(1.05, 1), 0.03);
  EXPECT_EQ(ends.compared, 2U);
  ASSERT_EQ(ends.slower.size(), 1U);
  EXPECT_EQ(ends.slower.front().id, kTbb);
  EXPECT_NEAR(ends.ratio, 1.05, 0.001);
  EXPECT_TRUE(compare_ends(rounds_of(1, 1), rounds_of(1.05, 1), 0.06).slower.empty());
  EXPECT_TRUE(compare_ends(rounds_of(1.05, 1), rounds_of(1, 1), 0.03).slower.empty());
}

TEST(SideOf, EqualEndsAreNotInDoubtButNoisyOnesAre) {
  EXPECT_FALSE(compare_ends(rounds_of(1, 1), rounds_of(1, 1), 0.03).in_doubt);
  const EndsDifference noisy = compare_ends(rounds_of(1, 1, 0.1), rounds_of(1.05, 1, 0.1), 0.03);
  EXPECT_TRUE(noisy.slower.empty());
  EXPECT_TRUE(noisy.in_doubt);
}

// Twins that differ by 10 % in one round and by -10 % in the next are the same in the end.
TEST(SideOf, TheNoiseFloorIsThatOfAllRounds) {
  const auto with_twins = [](Rounds rounds, double first, double second) {
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      for (CellResult& result : rounds[i].results) {
        result.again = record::Again{};
        result.again->samples = around(1e-3 * (i == 0 ? first : second));
      }
    }
    return rounds;
  };
  const EndsDifference steady =
      compare_ends(with_twins(rounds_of(1, 1), 1.1, 0.9), rounds_of(1.05, 1), 0.03);
  EXPECT_EQ(steady.slower.size(), 1U);
  EXPECT_NEAR(steady.margin, 0.03, 0.001);
  const EndsDifference noisy =
      compare_ends(with_twins(rounds_of(1, 1), 1.1, 1.1), rounds_of(1.05, 1), 0.03);
  EXPECT_TRUE(noisy.slower.empty());
  EXPECT_NEAR(noisy.margin, 0.1, 0.001);
}

TEST(SideOf, ACommitBelongsToTheEndThatItIsLike) {
  const Rounds good = rounds_of(1, 2), bad = rounds_of(1.05, 2.1);
  const std::vector<std::string> ids{kTbb, kXsimd};
  EXPECT_EQ(side_of(good, rounds_of(1, 2), bad, ids).finding, Finding::good);
  const Place slow = side_of(good, rounds_of(1.05, 2.1), bad, ids);
  EXPECT_EQ(slow.finding, Finding::bad);
  EXPECT_NEAR(slow.ratio, 1.05, 0.001);
  EXPECT_FALSE(slow.between);
}

TEST(SideOf, OneThatDiffersFromBothBelongsToTheNearer) {
  const Rounds good = rounds_of(1, 1), bad = rounds_of(1.1, 1.1);
  const Place low = side_of(good, rounds_of(1.03, 1.03), bad, {kTbb, kXsimd});
  EXPECT_EQ(low.finding, Finding::good);
  EXPECT_TRUE(low.between);
  EXPECT_EQ(side_of(good, rounds_of(1.08, 1.08), bad, {kTbb, kXsimd}).finding, Finding::bad);
}

TEST(SideOf, NoiseLeavesItInDoubt) {
  const Place place = side_of(rounds_of(1, 1, 0.05), rounds_of(1.02, 1.02, 0.05),
                              rounds_of(1.05, 1.05, 0.05), {kTbb, kXsimd});
  EXPECT_EQ(place.finding, Finding::in_doubt);
}

TEST(SideOf, OnlyTheCellsThatBecameSlowerCount) {
  EXPECT_EQ(side_of(rounds_of(1, 1), rounds_of(1, 3), rounds_of(1.05, 1), {kTbb}).finding,
            Finding::good);
}

TEST(SideOf, TheControlTakesOutAMachineThatWasSlower) {
  const auto with_control = [](Rounds rounds, double gflops) {
    for (record::ResultsFolder& folder : rounds) {
      for (CellResult& result : folder.results) {
        result.control = record::Control{"avx2", 1, std::vector<double>(9, gflops)};
      }
    }
    return rounds;
  };
  const Rounds good = with_control(rounds_of(1, 1), 50);
  const Rounds bad = with_control(rounds_of(1.05, 1.05), 50);
  const Rounds slowed = with_control(rounds_of(1.2, 1.2), 50 / 1.2);
  EXPECT_EQ(side_of(good, slowed, bad, {kTbb, kXsimd}).finding, Finding::good);
}

TEST(SideOf, ACellWithoutATimeHasNoPlace) {
  Rounds commit = rounds_of(1, 1);
  commit.back().results[0] =
      test::without_time(sample_result("tbb"), record::Status::failed, "wrong result");
  const Place place = side_of(rounds_of(1, 1), commit, rounds_of(1.05, 1), {kTbb});
  EXPECT_EQ(place.finding, Finding::unbuildable);
  EXPECT_NE(place.reason.find("wrong result"), std::string::npos);
}

}  // namespace
}  // namespace headroom::bisect::side_of_test
