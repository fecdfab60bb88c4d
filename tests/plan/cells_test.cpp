#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "plan/cell.hpp"
#include "plan/expand.hpp"
#include "plan/shapes/models.hpp"
#include "processor/cores.hpp"

namespace headroom::plan::cells_test {
namespace {

Axes small() {
  Axes axes;
  axes.backend = "naive";
  axes.formulation = "split";
  return axes;
}

std::set<std::string> ids(const Plan& plan) {
  std::set<std::string> all;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) all.insert(cell.id);
  }
  return all;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

std::string error_of(const Axes& axes) {
  return error_of([&] { expand(axes, {}); });
}

// What typing this for an axis of `axes` brings.
std::string error_of(Axes axes, auto Axes::*axis, const char* typed) {
  return error_of([&] {
    axes.*axis = typed;
    expand(axes, {});
  });
}

TEST(Cells, CrossProductWithStableIds) {
  Axes axes = small();
  axes.heads = "2,4";
  axes.d_model = "64";
  axes.tokens = "1-4*2";
  axes.formulation = "wrapper,split";
  const Plan plan = expand(axes, {});
  EXPECT_EQ(plan.groups.size(), 6u);
  EXPECT_EQ(plan.cell_count(), 12u);
  EXPECT_TRUE(ids(plan).contains("wrapper/naive/f32/t1/B1_T4_D64_H2"));
  EXPECT_TRUE(plan.notes.empty());
}

// Beside --d-model, --head-dim has no effect, and all of its values give the same shapes.
TEST(Cells, AMillionRepeatedShapesAreRefused) {
  Axes axes = small();
  axes.d_model = "2";
  axes.heads = "1";
  axes.head_dim = "1-1100+1";
  axes.batch = "1-1000+1";
  EXPECT_NE(error_of(axes).find("repeated shapes"), std::string::npos) << error_of(axes);
}

TEST(Cells, RepeatedValuesAreMeasuredOnceWithANote) {
  Axes axes = small();
  axes.heads = "2,2,1-2+1";
  axes.tokens = "8";
  axes.backend = "naive,naive";
  const Plan plan = expand(axes, {});
  EXPECT_EQ(plan.cell_count(), 2u);
  EXPECT_EQ(plan.notes.size(), 2u);
}

TEST(Cells, ShapesThatCoincideAreMeasuredOnceWithANote) {
  Axes axes = small();
  axes.model = "gpt2,gpt3-small";
  axes.tokens = "8";
  const Plan plan = expand(axes, {});
  EXPECT_EQ(plan.cell_count(), 1u);
  EXPECT_EQ(plan.notes.size(), 1u);
}

TEST(Cells, OneThreadBackendsStandOnceWhateverThreadsSays) {
  Axes axes = small();
  axes.tokens = "8";
  axes.threads = "1,2";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.cell_count(), 1u);
  EXPECT_EQ(plan.groups[0].cells[0].threads, 1);
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Cells, MoreThreadsThanCoresAreWarnedOf) {
  Axes axes = small();
  axes.tokens = "8";
  axes.threads = std::to_string(allowed_cores() + 1);
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.warnings.size(), 1u);
  EXPECT_TRUE(plan.groups[0].cells[0].warnings.empty()) << "naive runs on one thread";
}

TEST(Cells, HeadsThatDoNotDivideTheWidthNameTheNearest) {
  Axes axes = small();
  axes.heads = "7";
  axes.d_model = "768";
  const std::string message = error_of(axes);
  for (const char* part : {"768", "7", "6 and 8", "763 and 770"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST(Cells, OverflowIsRefused) {
  Axes axes = small();
  axes.heads = "4611686018427387904";
  EXPECT_NE(error_of(axes), "");
  axes.heads = "1";
  axes.tokens = "4611686018427387904";
  EXPECT_NE(error_of(axes), "");
}

TEST(Cells, ManyCellsNeedYes) {
  Axes axes = small();
  axes.d_model = "64";
  axes.heads = "1";
  axes.tokens = "1-1000+1";
  axes.batch = "1-101+1";
  EXPECT_NE(error_of(axes).find("--yes"), std::string::npos) << error_of(axes);
  EXPECT_EQ(expand(axes, {1, true}).cell_count(), 101'000u);
  axes.batch = "1-100+1";
  EXPECT_EQ(expand(axes, {}).cell_count(), 100'000u);
}

TEST(Cells, UnknownNamesSuggestTheNearest) {
  const auto check = [](auto axis, const char* typed, const char* meant) {
    const std::string error = error_of(small(), axis, typed);
    EXPECT_NE(error.find(meant), std::string::npos) << error;
  };
  check(&Axes::backend, "naiv", "'naive'");
  check(&Axes::formulation, "splt", "'split'");
  check(&Axes::model, "gpt-2", "'gpt2'");
  check(&Axes::preset, "quik", "'quick'");
  check(&Axes::isa, "avx215", "'avx2'");
}

TEST(Cells, DropoutIsAProbability) {
  for (const char* wrong : {"-0.1", "1", "1.5", "nan", "inf", "x", "", "0.1x"}) {
    EXPECT_NE(error_of(small(), &Axes::dropout, wrong).find("--dropout"), std::string::npos)
        << wrong;
  }
  Axes axes = small();
  axes.dropout = "0.25";
  EXPECT_EQ(expand(axes, {}).groups[0].shape.dropout, 0.25);
}

TEST(Cells, OptionsReachTheShape) {
  Axes axes = small();
  axes.heads = "4";
  axes.head_dim = "20";
  axes.d_in = "50";
  axes.batch = "3";
  axes.tokens = "5";
  axes.no_causal = axes.qkv_bias = axes.no_out_proj = true;
  const Case shape = expand(axes, {}).groups.at(0).shape;
  EXPECT_EQ(shape.d_out, 80);
  EXPECT_EQ(shape.d_in, 50);
  EXPECT_EQ(shape.d_proj, 0);
  EXPECT_EQ(shape.batch, 3);
  EXPECT_EQ(shape.tokens, 5);
  EXPECT_FALSE(shape.causal);
  EXPECT_TRUE(shape.qkv_bias);
}

TEST(Cells, ExplicitAxesOverrideModelAndPreset) {
  Axes axes = small();
  axes.preset = "heads";
  axes.tokens = "32";
  const Plan heads = expand(axes, {});
  EXPECT_EQ(heads.groups.size(), 11u);
  for (const Group& group : heads.groups) {
    EXPECT_EQ(group.shape.tokens, 32);
    EXPECT_EQ(group.shape.head_dim(), 64);
  }
  Axes model = small();
  model.model = "gpt2";
  model.heads = "6";
  model.tokens = "16";
  const Case shape = expand(model, {}).groups.at(0).shape;
  EXPECT_EQ(shape.d_out, 768);
  EXPECT_EQ(shape.head_dim(), 128);
}

TEST(Cells, EveryModelMultipliesOut) {
  for (const std::string& name : model_names()) {
    Axes axes = small();
    axes.model = name;
    axes.tokens = std::string("1");  // gcc 12 warns of the literal
    const Case shape = expand(axes, {}).groups.at(0).shape;
    EXPECT_EQ(shape.d_proj, shape.d_in) << name;
  }
  const ShapeSeed largest = model_shape("gpt3-175b");
  EXPECT_EQ(largest.heads, 96);
  EXPECT_EQ(largest.head_dim, 128);
  EXPECT_EQ(largest.d_model, 12288);
  const ShapeSeed xl = model_shape("gpt3-xl");  // heads wider than the model
  EXPECT_EQ(xl.heads * xl.head_dim, 3072);
  EXPECT_EQ(xl.d_model, 2048);
}

TEST(Cells, EveryPresetExpands) {
  for (const std::string& name : preset_names()) {
    Axes axes = small();
    axes.preset = name;
    EXPECT_FALSE(expand(axes, {}).groups.empty()) << name;
  }
}

TEST(Cells, SeveralPresetsAreJoinedAndSharedShapesStandOnce) {
  const auto shapes_of = [](const char* presets) {
    Axes axes = small();
    axes.preset = presets;
    return expand(axes, {}).groups.size();
  };
  EXPECT_EQ(shapes_of("heads,heads"), shapes_of("heads"));
  // Twelve heads of 64 for 1 and 128 tokens are in both.
  EXPECT_EQ(shapes_of("heads,tokens"), shapes_of("heads") + shapes_of("tokens") - 2);
  EXPECT_NE(error_of(small(), &Axes::preset, "heads,tokns").find("'tokens'"), std::string::npos);
}

std::vector<std::string> shape_ids(const Axes& axes) {
  std::vector<std::string> shapes;
  for (const Group& group : expand(axes, {}).groups) shapes.push_back(group.shape.id());
  return shapes;
}

TEST(Cells, QuickAsksFirstWhatSplittingWins) {
  EXPECT_EQ(shape_ids(small()), (std::vector<std::string>{
                                    "B1_T16_D768_H1", "B1_T16_D768_H12", "B1_T16_D768_H48",
                                    "B1_T16_D768_H96", "B1_T128_D768_H12", "B1_T1_D768_H12_P128"}));
}

TEST(Cells, SplitVariesTheHeadsOfEqualWeights) {
  Axes axes = small();
  axes.preset = "split";
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> heads;
  const Plan plan = expand(axes, {});
  for (const Group& group : plan.groups) {
    const Case& shape = group.shape;
    EXPECT_EQ(shape.d_in, shape.d_out);
    heads[{shape.d_out, shape.tokens}].insert(shape.heads);
  }
  ASSERT_EQ(heads.size(), 4u);
  for (const std::int64_t width : {768, 1536}) {
    for (const std::int64_t tokens : {16, 128}) {
      EXPECT_EQ((heads[{width, tokens}]),
                (std::set<std::int64_t>{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96}));
    }
  }
  EXPECT_TRUE(plan.notes.empty());
  axes.heads = "1,12,48,96";
  EXPECT_EQ(shape_ids(axes).size(), 16u) << "both widths, with 16 and 128 tokens";
}

TEST(Cells, HeadsOfAPresetThatDoNotDivideAreNoted) {
  Axes axes = small();
  axes.preset = "split";
  axes.tokens = "16";
  axes.d_model = "100,768";
  const Plan plan = expand(axes, {});
  EXPECT_EQ(plan.groups.size(), 3u + 11u);
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_NE(plan.notes[0].find("8, 12, 16, 24, 32, 48, 64, 96 heads"), std::string::npos)
      << plan.notes[0];
  EXPECT_NE(plan.notes[0].find("width 100"), std::string::npos) << plan.notes[0];
  axes.heads = "4,7";
  EXPECT_NE(error_of(axes).find("7"), std::string::npos) << "typed, so it is a mistake";
  axes.heads.reset();
  axes.preset = "tokens";
  axes.d_model = "100";
  EXPECT_NE(error_of(axes).find("nothing is left"), std::string::npos) << error_of(axes);
}

TEST(Cells, NoTokensIsAllowed) {
  Axes axes = small();
  axes.tokens = "0";
  EXPECT_EQ(expand(axes, {}).groups.at(0).shape.rows(), 0);
}

}  // namespace
}  // namespace headroom::plan::cells_test
