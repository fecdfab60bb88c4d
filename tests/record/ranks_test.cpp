// Cells of several processes in a results folder.
#include <gtest/gtest.h>

#include "headroom/error.hpp"
#include "json/json_fields.hpp"
#include "record/identity.hpp"
#include "record/peaks.hpp"
#include "record/results_folder.hpp"
#include "support/sample_results.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::record::ranks_test {
namespace {

using nlohmann::ordered_json;
using test::on_ranks;
using test::sample_result;
using test::with_time;

CellResult timed_on(int ranks) {
  CellResult result = on_ranks(with_time(sample_result("naive"), {1e-3, 2e-3, 3e-3}), ranks);
  result.phases.sum = 0.25e-3;
  return result;
}

TEST(RanksOfALine, AreGivenBackWithTheTimeOfTheirSum) {
  const CellResult result = timed_on(4);
  EXPECT_EQ(result.cell.id, "split/naive/f32/r4t1/B1_T4_D8_H2");
  const ordered_json line = to_json(result);
  EXPECT_EQ(line["ranks"], 4);
  EXPECT_EQ(line["phases_s"]["sum"], 0.25e-3);
  EXPECT_EQ(to_json(from_json(line)).dump(), line.dump());
  EXPECT_EQ(from_json(line).cell.ranks, 4);
  EXPECT_EQ(from_json(line).phases.sum, 0.25e-3);
}

TEST(RanksOfALine, AreOneWithoutASumInAllOthers) {
  ordered_json line = to_json(timed_on(1));
  EXPECT_EQ(line["ranks"], 1);
  EXPECT_FALSE(line["phases_s"].contains("sum"));
  line.erase("ranks");
  EXPECT_THROW(from_json(line), InvalidArgument);
}

TEST(RanksOfALine, AreANumberThatIsAllowed) {
  for (const ordered_json& value : {ordered_json(0), ordered_json(4097), ordered_json(1.5),
                                    ordered_json("2"), ordered_json(nullptr)}) {
    ordered_json line = to_json(timed_on(2));
    line["ranks"] = value;
    EXPECT_THROW(from_json(line), InvalidArgument) << value;
  }
  ordered_json line = to_json(timed_on(2));
  line["phases_s"]["sum"] = -1;
  EXPECT_THROW(from_json(line), InvalidArgument);
}

class RanksOnDisk : public test::TemporaryFolder {};

TEST_F(RanksOnDisk, StandInTheirOrderWhateverOrderTheyFinishedIn) {
  test::write_sample_folder(path_, {timed_on(4), timed_on(1), timed_on(2)});
  const ResultsFolder folder = read_results_folder(path_);
  std::vector<int> ranks;
  for (const CellResult* result : in_order(folder)) ranks.push_back(result->cell.ranks);
  EXPECT_EQ(ranks, (std::vector<int>{1, 2, 4}));
}

TEST(RanksOfASweep, AreAmongItsAxes) {
  plan::Axes axes;
  EXPECT_FALSE(to_json(identity_of(axes, {}, {}))["axes"].contains("ranks"));
  axes.ranks = "1,2";
  EXPECT_EQ(to_json(identity_of(axes, {}, {}))["axes"]["ranks"], "1,2");
}

TEST(LinkOfAFolder, IsGivenBackIfItIsOne) {
  Peaks peaks;
  EXPECT_FALSE(to_json(peaks).contains("link")) << "as in older folders";
  EXPECT_FALSE(peaks_of({{"peaks", to_json(peaks)}}).link);
  peaks.link = Link{1.5e-6, 9.75e9};
  ordered_json environment{{"peaks", to_json(peaks)}};
  ASSERT_TRUE(peaks_of(environment).link);
  EXPECT_EQ(peaks_of(environment).link->latency_s, 1.5e-6);
  EXPECT_EQ(peaks_of(environment).link->bytes_per_s, 9.75e9);
  for (const ordered_json& no_link :
       {ordered_json{{"latency_s", 1e-6}}, ordered_json{{"bytes_per_s", 1e9}},
        ordered_json{{"latency_s", -1}, {"bytes_per_s", 1e9}},
        ordered_json{{"latency_s", 1e-6}, {"bytes_per_s", 0}}, ordered_json("fast")}) {
    environment["peaks"]["link"] = no_link;
    EXPECT_FALSE(peaks_of(environment).link) << no_link;
  }
}

}  // namespace
}  // namespace headroom::record::ranks_test
