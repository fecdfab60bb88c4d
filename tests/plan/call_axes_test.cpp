// The axes of the call and of grouped heads: --kv-heads, --window, --past, --lengths, --rotary.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "plan/expand.hpp"
#include "plan/shapes/models.hpp"

namespace headroom::plan::call_axes_test {
namespace {

using Numbers = std::vector<std::int64_t>;

Axes small() {
  Axes axes;
  axes.heads = "8";
  axes.head_dim = "4";
  axes.tokens = "3";
  axes.backend = "naive";
  axes.formulation = "split";
  return axes;
}

std::vector<Case> shapes_of(const Axes& axes) {
  std::vector<std::string> notes;
  return expand_shapes(axes, nullptr, 1, kMaxShapes, notes);
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
  return error_of([&] { shapes_of(axes); });
}

// What typing this for an axis of `axes` brings.
std::string error_of(Axes axes, auto Axes::*axis, const char* typed) {
  return error_of([&] {
    axes.*axis = typed;
    shapes_of(axes);
  });
}

TEST(CallAxes, AreListsLikeTheOthers) {
  Axes axes = small();
  axes.kv_heads = "1,2";
  axes.window = "5,6,7";
  EXPECT_NE(error_of(axes, &Axes::past, "0-8*2,1,9"), "") << "a factor needs a start above 0";
  axes.past = "0,4,9";
  const std::vector<Case> shapes = shapes_of(axes);
  ASSERT_EQ(shapes.size(), 18u);
  EXPECT_EQ(shapes.back().kv_heads, 2);
  EXPECT_EQ(shapes.back().window, 7);
  EXPECT_EQ(shapes.back().past, 9);
  EXPECT_EQ(expand(axes, {}).groups.back().cells[0].id, "split/naive/f32/t1/B1_T3_D32_H8_K2_W7_P9");
}

TEST(CallAxes, KeyHeadsThatDoNotDivideNameTheNearest) {
  Axes axes = small();
  axes.kv_heads = "3";
  const std::string message = error_of(axes);
  for (const char* part : {"kv_heads 3", "heads 8", "2 and 4"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  axes.kv_heads = "16";
  EXPECT_NE(error_of(axes).find("nearest that do: 8"), std::string::npos) << error_of(axes);
}

TEST(CallAxes, NumbersThatAreTooSmallNameTheirAxis) {
  const auto check = [](auto axis, const char* typed, const char* named) {
    const std::string error = error_of(small(), axis, typed);
    EXPECT_NE(error.find(named), std::string::npos) << typed << ": " << error;
  };
  check(&Axes::kv_heads, "0", "--kv-heads");
  check(&Axes::window, "0", "--window");
  check(&Axes::window, "-1", "--window");
  check(&Axes::past, "-1", "--past");
  check(&Axes::lengths, "4,-1", "--lengths");
  check(&Axes::lengths, "", "--lengths");
  check(&Axes::rotary, "halfs", "'halves'");
  check(&Axes::past, "9223372036854775807", "past");
}

TEST(CallAxes, AWindowWithoutACausalMaskIsOnBothSides) {
  Axes axes = small();
  axes.window = "2";
  axes.no_causal = true;
  const Case shape = shapes_of(axes).at(0);
  EXPECT_EQ(shape.window, 2);
  EXPECT_FALSE(shape.causal);
}

TEST(CallAxes, AsManyKeyHeadsAsHeadsIsNoOtherShape) {
  Axes axes = small();
  axes.kv_heads = "8";
  const Case given = shapes_of(axes).at(0);
  axes.kv_heads.reset();
  EXPECT_EQ(given, shapes_of(axes).at(0));
  EXPECT_EQ(given.kv_heads, 0);
}

TEST(CallAxes, LengthsAreOneRaggedBatch) {
  Axes axes = small();
  axes.lengths = "1,17,0,17";
  EXPECT_NE(error_of(axes).find("leave out --batch and --tokens"), std::string::npos);
  axes.tokens.reset();
  axes.past = "0,2";
  const std::vector<Case> shapes = shapes_of(axes);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[1].lengths, (Numbers{1, 17, 0, 17}));
  EXPECT_EQ(shapes[1].batch, 4);
  EXPECT_EQ(shapes[1].tokens, 17);
  EXPECT_EQ(shapes[1].rows(), 35);
  EXPECT_EQ(shapes[1].past, 2);
  axes.batch = "4";
  EXPECT_NE(error_of(axes).find("--lengths"), std::string::npos);
  axes.batch.reset();
  EXPECT_NE(error_of(axes, &Axes::lengths, "1-1001+1").find("the limit is 1000"),
            std::string::npos);
}

TEST(CallAxes, RotaryIsTheModelsOrAsked) {
  Axes axes = small();
  axes.rotary = "neighbours";
  EXPECT_EQ(shapes_of(axes).at(0).rotary, (Rotary{Rotary::Pairs::neighbours}));
  Axes llama;
  llama.model = "llama3-8b";
  llama.tokens = "1";
  EXPECT_EQ(shapes_of(llama).at(0).rotary, (Rotary{Rotary::Pairs::halves, 500'000, 1}));
  llama.rotary = "neighbours";
  EXPECT_EQ(shapes_of(llama).at(0).rotary, (Rotary{Rotary::Pairs::neighbours, 500'000, 1}));
  llama.rotary = "none";
  EXPECT_EQ(shapes_of(llama).at(0).rotary, Rotary{});
}

TEST(CallAxes, ModelsThatDifferInTheBaseAloneAreTwoShapes) {
  Axes axes;
  axes.model = "llama3-8b,mixtral-8x7b";
  axes.tokens = "1";
  EXPECT_EQ(shapes_of(axes).size(), 2u);
  axes.rotary = "none";
  EXPECT_EQ(shapes_of(axes).size(), 1u);
}

TEST(CallAxes, ModelsHaveTheirPublishedSizes) {
  const auto shape_of = [](const char* name) {
    Axes axes;
    axes.model = name;
    axes.tokens = "1";
    return shapes_of(axes).at(0);
  };
  EXPECT_EQ(shape_of("llama3-8b").id(), "B1_T1_D4096_H32_K8_rope500000");
  EXPECT_EQ(shape_of("llama3-70b").id(), "B1_T1_D8192_H64_K8_rope500000");
  EXPECT_EQ(shape_of("mistral-7b").id(), "B1_T1_D4096_H32_K8_W4096_rope");
  EXPECT_EQ(shape_of("qwen3-0.6b").id(), "B1_T1_D2048_H16_in1024_proj1024_K8_rope1000000_norm");
  EXPECT_EQ(shape_of("qwen3-8b").id(), "B1_T1_D4096_H32_K8_rope1000000_norm");
  EXPECT_EQ(shape_of("gemma3-4b").id(), "B1_T1_D2048_H8_in2560_proj2560_K4_W1024_rope_norm");
  EXPECT_EQ(shape_of("gemma3-27b").id(),
            "B1_T1_D4096_H32_in5376_proj5376_K16_W1024_rope_norm_scale0.077151675");
  EXPECT_EQ(shape_of("gemma2-9b").id(), "B1_T1_D4096_H16_in3584_proj3584_K8_W4096_rope_cap50");
  EXPECT_EQ(shape_of("modernbert-base").id(), "B1_T1_D768_H12_nomask_W65_rope");
  const Case gpt_oss = shape_of("gpt-oss-full");
  EXPECT_TRUE(gpt_oss.sinks);
  EXPECT_NEAR(gpt_oss.rotary.amplitude, 1.3466, 1e-4);  // 0.1 ln(32) + 1
  EXPECT_EQ(gpt_oss.rotary.divisors.front(), 1);        // fast pairs stay,
  EXPECT_EQ(gpt_oss.rotary.divisors.back(), 32);        // slow ones are stretched
}

TEST(CallAxes, OverrideTheModels) {
  Axes axes;
  axes.model = "mistral-7b";
  axes.tokens = "1";
  axes.kv_heads = "4";
  axes.window = "100";
  axes.past = "64";
  EXPECT_EQ(shapes_of(axes).at(0).id(), "B1_T1_D4096_H32_K4_W100_rope_P64");
  axes = {};
  axes.model = "mistral-7b";
  axes.tokens = "1";
  axes.heads = "16";
  EXPECT_EQ(shapes_of(axes).at(0).kv_heads, 4) << "four heads share a key head, as before";
  axes.no_causal = true;
  EXPECT_EQ(shapes_of(axes).at(0).window, 0) << "the model's window goes with its mask";
  axes.heads = "2";
  EXPECT_NE(error_of(axes).find("kv_heads 8 does not divide heads 2"), std::string::npos);
}

TEST(CallAxes, DecodeIsOneTokenAfterMany) {
  const auto most = [](const std::vector<Case>& shapes, auto size) {
    return size(*std::max_element(shapes.begin(), shapes.end(),
                                  [&](const Case& a, const Case& b) { return size(a) < size(b); }));
  };
  Axes axes;
  axes.preset = "decode";
  const std::vector<Case> shapes = shapes_of(axes);
  EXPECT_EQ(shapes.size(), 33u);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return shape.tokens; }), 1);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return -shape.past; }), 0);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return shape.past; }), 32768);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return -shape.heads; }), -1);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return shape.heads; }), 96);
  EXPECT_EQ(most(shapes, [](const Case& shape) { return shape.batch; }), 8);
  axes.past = "16";
  axes.batch = "2";
  EXPECT_EQ(shapes_of(axes).size(), 4u) << "the axes override the preset";
}

// Help shows it, and shells complete names.
TEST(CallAxes, EveryAxisSaysWhatStandsForItsValue) {
  const Axes axes;
  Axes::each(axes, [](const auto& axis) {
    if constexpr (!kIsFlag<decltype(axis)>) {
      const AxisWords& words = axis.words();
      EXPECT_FALSE(words.value_text().empty()) << words.name;
      EXPECT_EQ(words.value_text() == "NAMES", words.value == "NAMES" && !words.choices.empty())
          << words.name;
    }
  });
}

TEST(CallAxes, OlderPresetsAreWhatTheyWere) {
  const auto shapes_in = [](const char* preset) {
    Axes axes;
    axes.preset = preset;
    const std::vector<Case> shapes = shapes_of(axes);
    for (const Case& shape : shapes) {
      EXPECT_EQ(shape.past + shape.kv_heads + shape.window, 0) << shape.id();
      EXPECT_EQ(shape.rotary, Rotary{}) << shape.id();
    }
    return shapes.size();
  };
  EXPECT_EQ(shapes_in("models"), 20u);
  EXPECT_EQ(shapes_in("full"), 103u);
}

}  // namespace
}  // namespace headroom::plan::call_axes_test
