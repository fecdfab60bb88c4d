#include "pick/neighbours/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "headroom/error.hpp"
#include "support/sample_store.hpp"

namespace headroom::pick::leave_one_out_test {
namespace {

using nlohmann::ordered_json;
using record::CellResult;
using test::machine_environment;
using test::steady;

class LeaveOneOuts : public test::SampleStore {
 protected:
  LeaveOneOut table() const {
    StoredResults results;
    return leave_one_out(store::catalogue_of(path_), {}, {}, results);
  }
};

// Two machines that are near each other, and one that is far from both.
//             4 tokens                16 tokens
//   a         tbb 1, onednn 2         tbb 1, onednn 1.5
//   b         tbb 1, onednn 1.3       onednn 1, tbb 4
//   c         onednn 1, tbb 5         only xsimd
TEST_F(LeaveOneOuts, SayWhatTheChoiceOfTheNearestLoses) {
  put("a/1", machine_environment("A", 1024),
      {steady("tbb", 1e-3), steady("onednn", 2e-3), steady("tbb", 1e-3, 16),
       steady("onednn", 1.5e-3, 16)});
  put("b/1", machine_environment("B", 2048),
      {steady("tbb", 1e-3), steady("onednn", 1.3e-3), steady("onednn", 1e-3, 16),
       steady("tbb", 4e-3, 16)});
  put("c/1", machine_environment("C", 16384),
      {steady("onednn", 1e-3), steady("tbb", 5e-3), steady("xsimd", 1e-3, 16)});
  const LeaveOneOut all = table();
  ASSERT_EQ(all.machines.size(), 3U);
  const LeftOutMachine& a = all.machines[0];
  EXPECT_TRUE(a.machine.starts_with("a-") && a.nearest.starts_with("b-")) << a.nearest;
  EXPECT_EQ(a.nearness, "near");
  EXPECT_EQ(a.loss.answers, 2U);
  EXPECT_NEAR(a.loss.worst, 1.5, 0.01);  // onednn for 16 tokens, as b says
  EXPECT_EQ(a.loss.worst_where, "B1_T16_D8_H2");
  EXPECT_NEAR(a.loss.median, 1.25, 0.01);
  EXPECT_EQ(a.loss.large, 1U);
  const LeftOutMachine& b = all.machines[1];
  EXPECT_TRUE(b.nearest.starts_with("a-")) << b.nearest;
  EXPECT_NEAR(b.loss.worst, 4, 0.01);
  const LeftOutMachine& c = all.machines[2];
  EXPECT_TRUE(c.nearest.starts_with("b-")) << c.nearest;
  EXPECT_EQ(c.loss.answers, 1U);
  EXPECT_EQ(c.loss.missing, 1U);
  EXPECT_NEAR(c.loss.worst, 5, 0.01);
  ASSERT_EQ(all.by_shape.size(), 2U);
  EXPECT_EQ(all.by_shape[0].name, "B1_T16_D8_H2");
  EXPECT_NEAR(all.by_shape[0].worst, 4, 0.01);
  EXPECT_EQ(all.by_shape[0].missing, 1U);
  EXPECT_EQ(all.all.answers, 5U);
  EXPECT_NEAR(all.all.worst, 5, 0.01);
  const std::string text = to_text(all);
  for (const char* part : {"a-", "5.00", "B1_T16_D8_H2", "2 times the L2 of a core", "all"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_NE(evidence(all).find("5 answers, which lost 50.0 % in the median and 400.0 % at worst"),
            std::string::npos)
      << evidence(all);
  EXPECT_EQ(evidence(LeaveOneOut()), "");
  const ordered_json json = ordered_json::parse(to_json(all));
  EXPECT_EQ(json["schema"], "headroom.leave-one-out/1");
  EXPECT_NEAR(json["machines"][1]["loss"]["worst_loss"].get<double>(), 4, 0.01);
  EXPECT_EQ(json["machines"][2]["shapes"][0]["loss"], nullptr);
  EXPECT_EQ(json["machines"][2]["shapes"][0]["verdict"], "no time");
}

// The newest run of a machine that has the shape counts, and one cell that failed hides nothing.
TEST_F(LeaveOneOuts, TakeTheNewestTimeOfEachShape) {
  put("a/1", machine_environment("A", 1024, "old", "2026-11-01T00:00:00Z"),
      {steady("tbb", 9e-3), steady("onednn", 1e-3), steady("tbb", 1e-3, 16)});
  CellResult failed = steady("tbb", 1, 64);
  failed = test::without_time(std::move(failed), record::Status::failed, "wrong");
  put("a/2", machine_environment("A", 1024, "new", "2026-11-02T00:00:00Z"),
      {steady("tbb", 1e-3), steady("onednn", 9e-3), failed});
  put("b/1", machine_environment("B", 1024),
      {steady("onednn", 1e-3), steady("tbb", 2e-3), steady("tbb", 1e-3, 16), steady("tbb", 1, 64)});
  const LeaveOneOut all = table();
  ASSERT_EQ(all.machines[0].shapes.size(), 2U);
  EXPECT_EQ(all.machines[0].shapes[0].shape, "B1_T16_D8_H2");
  EXPECT_EQ(all.machines[0].shapes[0].loss, 1);
  EXPECT_NEAR(all.machines[0].shapes[1].loss, 9, 0.01);  // onednn, as b says
  EXPECT_NEAR(all.machines[1].shapes[1].loss, 2, 0.01);  // tbb, as the newest run of a says
}

TEST_F(LeaveOneOuts, NeedAnother) {
  put("a/1", machine_environment("A", 1024), {steady("tbb", 1e-3)});
  EXPECT_THROW(table(), InvalidArgument);
}

}  // namespace
}  // namespace headroom::pick::leave_one_out_test
