// --op: layers, attention over heads that are given, or both.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "plan/estimate.hpp"
#include "plan/expand.hpp"

namespace headroom::plan::attention_alone_test {
namespace {

Axes small(const char* op) {
  Axes axes;
  axes.op = op;
  axes.heads = "4";
  axes.tokens = "8";
  axes.past = "0,100";
  axes.threads = "1";
  axes.backend = "naive,auto";
  return axes;
}

TEST(AttentionAlone, HasOneCellWhereALayerHasThree) {
  const Plan plan = expand(small("layer,attention"), {});
  ASSERT_EQ(plan.groups.size(), 4u);
  std::vector<std::string> ids;
  for (const Group& group : plan.groups) {
    EXPECT_EQ(group.cells.size(), group.shape.has_projections() ? 4u : 2u);
    if (group.shape.has_projections()) continue;
    for (std::size_t i = 0; i < group.cells.size(); ++i) {
      EXPECT_EQ(group.cells[i].order, i);
      ids.push_back(group.cells[i].id);
    }
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"attention/naive/f32/t1/B1_T8_D256_H4_qkv",
                                           "attention/auto/f32/t1/B1_T8_D256_H4_qkv",
                                           "attention/naive/f32/t1/B1_T8_D256_H4_qkv_P100",
                                           "attention/auto/f32/t1/B1_T8_D256_H4_qkv_P100"}));
  EXPECT_EQ(expand(small("all"), {}).cell_count(), plan.cell_count());
  EXPECT_EQ(expand(small("attention"), {}).cell_count(), 4u);
}

TEST(AttentionAlone, IsRefusedWhereValuesHaveAnotherWidth) {
  Axes axes = small("attention");
  axes.heads = Axes().heads;
  axes.model = "deepseek-v3";
  EXPECT_THROW(expand(axes, {}), Unsupported);
}

TEST(AttentionAlone, ItsRivalsAreNumberedAnew) {
  std::vector<Cell> cells(4);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].order = i;
    cells[i].formulation = i % 2 == 0 ? Formulation::split : Formulation::fused;
    cells[i].backend = i < 2 ? "one" : "two";
  }
  const std::vector<Cell> rivals = attention_rivals(cells);
  ASSERT_EQ(rivals.size(), 2u);
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    EXPECT_EQ(rivals[i].order, i);
    EXPECT_EQ(rivals[i].backend, i == 0 ? "one" : "two");
  }
  EXPECT_TRUE(attention_rivals({}).empty());
}

TEST(AttentionAlone, OfAModelHasItsHeadsAndWindow) {
  Axes axes;
  axes.op = "attention";
  axes.model = "llama3-8b";
  const Plan plan = expand(axes, {});
  const Case& shape = plan.groups.front().shape;
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.rotary.pairs, Rotary::Pairs::none);
  EXPECT_FALSE(shape.has_projections());
}

TEST(AttentionAlone, RefusesWhatOnlyALayerHas) {
  Axes axes = small("all");
  axes.dropout = "0.5";
  try {
    expand(axes, {});
    FAIL() << "taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("--dropout: it belongs to a layer, and --op all"),
              std::string::npos)
        << error.what();
  }
}

// What it needs is what it holds: no weights, and no cache beside keys and values.
TEST(AttentionAlone, IsEstimatedWithoutProducts) {
  const Plan plan = expand(small("all"), {});
  const auto bytes = [&](std::size_t group) { return shared_bytes(plan.groups[group].shape); };
  ASSERT_TRUE(plan.groups[0].shape.has_projections());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const Case& shape = plan.groups[group].shape;
    const Cell& cell = plan.groups[group].cells.front();
    const Estimator estimator;
    EXPECT_GT(estimator.forward_seconds(shape, cell), 0);
    if (shape.has_projections()) continue;
    EXPECT_EQ(estimator.fill_seconds(shape, cell), 0);
    const std::int64_t given = 4 * (8 * 256 + (shape.past + 8) * 2 * 256);
    EXPECT_GE(bytes(group), given);
    EXPECT_LT(bytes(group), 4 * given);
  }
}

}  // namespace
}  // namespace headroom::plan::attention_alone_test
