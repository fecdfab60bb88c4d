// Outlier channels as an axis: which channels they are, names of cells, and what declines them.
#include "plan/shapes/outliers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "plan/expand.hpp"

namespace headroom::plan::outliers_test {
namespace {

using Channels = std::vector<std::int64_t>;

TEST(Outliers, AreOneChannelIn64AndAtLeastOne) {
  EXPECT_EQ(outlier_channels(1), (Channels{0}));
  EXPECT_EQ(outlier_channels(40), (Channels{13}));
  EXPECT_EQ(outlier_channels(64), (Channels{21}));
  EXPECT_EQ(outlier_channels(128), (Channels{21, 85}));
  EXPECT_EQ(outlier_channels(768).size(), 12U);
  EXPECT_EQ(outlier_channels(200), (Channels{22, 88, 154}));
}

TEST(Outliers, OfKeysThatTurnAreWholePairs) {
  LayerConfig layer;
  layer.d_in = layer.d_out = 256;
  layer.heads = 2;
  EXPECT_EQ(outlier_key_channels(layer), (Channels{21, 85}));
  layer.rotary.pairs = Rotary::Pairs::halves;
  EXPECT_EQ(outlier_key_channels(layer), (Channels{21, 85})) << "64 pairs, of which one";
  layer.rotary.width = 32;
  EXPECT_EQ(outlier_key_channels(layer), (Channels{5, 21}));
  layer.rotary.pairs = Rotary::Pairs::neighbours;
  EXPECT_EQ(outlier_key_channels(layer), (Channels{10, 11}));
}

Axes small() {
  Axes axes;
  axes.backend = "naive";
  axes.formulation = "split";
  axes.threads = "1";
  axes.tokens = "4";
  axes.heads = "2";
  return axes;
}

std::vector<std::string> ids_of(const Plan& plan) {
  std::vector<std::string> ids;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) ids.push_back(cell.id);
  }
  return ids;
}

TEST(Outliers, AreAnAxisWhoseDefaultChangesNoName) {
  Axes axes = small();
  const std::string plain = "split/naive/f32/t1/B1_T4_D128_H2";
  EXPECT_EQ(ids_of(expand(axes, {})), std::vector{plain});
  axes.outliers = "1,300,10000";
  EXPECT_EQ(ids_of(expand(axes, {})),
            (std::vector{plain, plain + "_outliers300", plain + "_outliers10000"}));
  axes.op = "all";
  axes.formulation.reset();
  EXPECT_EQ(ids_of(expand(axes, {})).back(),
            "attention/naive/f32/t1/B1_T4_D128_H2_qkv_outliers10000");
  EXPECT_THROW(axes.outliers = "0", InvalidArgument);
  Case shape;
  shape.d_in = shape.d_out = 4;
  shape.outliers = -1;
  EXPECT_THROW(shape.validate(), InvalidArgument);
}

std::string reason_of(const Plan& plan) {
  const Cell& cell = plan.groups.back().cells.front();
  return cell.unsupported ? cell.skip_reason : "";
}

TEST(Outliers, AreDeclinedWhereTheyWouldChangeScores) {
  LayerConfig layer;
  layer.d_in = layer.d_out = 64;
  EXPECT_FALSE(declines_outliers(layer));
  layer.norm.over = QueryKeyNorm::Over::head;
  EXPECT_FALSE(declines_outliers(layer));
  layer.norm.weighted = false;
  EXPECT_NE(declines_outliers(layer).value_or("").find("norm has no weights"), std::string::npos);
  layer.norm = {};
  layer.clip = 2;
  EXPECT_NE(declines_outliers(layer).value_or("").find("clamps"), std::string::npos);
  layer.clip = 0;
  layer.latent.rank = 8;
  EXPECT_NE(declines_outliers(layer).value_or("").find("latents"), std::string::npos);
}

TEST(Outliers, OfWhichNoneCanBeAreAnError) {
  Axes axes = small();
  axes.heads.reset();
  axes.model = "deepseek-v3";
  axes.outliers = "1,300";
  const Plan plan = expand(axes, {});
  EXPECT_NE(reason_of(plan).find("latents"), std::string::npos) << reason_of(plan);
  EXPECT_FALSE(plan.groups.front().cells.front().unsupported);
  axes.outliers = "300";
  try {
    expand(axes, {});
    FAIL() << "there is nothing to measure";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("leave --outliers out"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace headroom::plan::outliers_test
