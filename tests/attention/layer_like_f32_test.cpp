// Options that leave the precision to the library: what it takes, whether it says why, and that who
// asks for f32 gets f32.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/dot_product.hpp"
#include "headroom/headroom.h"
#include "support/layer_cases.hpp"
#include "support/sample_tuning.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test::layer_like_f32_test {
namespace {

class LayerLikeF32 : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    unsetenv("HEADROOM_TUNING");
    unsetenv("HEADROOM_UNIT");
  }

  // A file in which xsimd takes so long with f32, and half of a second with bf16x6.
  std::string tuned_for(const Case& shape, double f32_seconds) const {
    const std::string isa(to_string(select_isa({})));
    tuning::Candidate f32 = candidate("xsimd", Formulation::fused, f32_seconds, 1, isa);
    tuning::Candidate parts = candidate("xsimd", Formulation::fused, 0.5, 1, isa);
    parts.numbers.precision = Precision::bf16x6;
    parts.unit = "emulated";
    write("tuning.json", tuning_json({{shape, {f32, parts}}}).dump());
    return (path_ / "tuning.json").string();
  }

  AttentionOptions any(const std::string& file = "") {
    AttentionOptions options;
    options.threads = 1;
    options.unit = Unit::emulated;
    options.precision = std::nullopt;
    options.tuning_file = file;
    options.on_warning = [this](const std::string& warning) { warnings_.push_back(warning); };
    return options;
  }

  Matrix output_of(Attention layer) const {
    Matrix y(shape_.rows(), shape_.output_width());
    layer.forward(data_.x.view(), y.view());
    return y;
  }

  Case shape_ = tuned_shape(40, 64, 4);
  Layer data_ = gaussian_layer(shape_);
  std::vector<std::string> warnings_;
};

TEST_F(LayerLikeF32, TakesWhatTheFileFoundFastest) {
  const Attention layer = layer_for(shape_, data_.weights, any(tuned_for(shape_, 1)));
  EXPECT_EQ(layer.choice().precision, Precision::bf16x6);
  EXPECT_EQ(layer.choice().unit, Unit::emulated);
  EXPECT_NE(layer.choice().precision_reason.find("fastest of f32, bf16x6 in "), std::string::npos)
      << layer.choice().precision_reason;
  EXPECT_EQ(layer.options().precision, Precision::bf16x6) << "as it took effect";
  EXPECT_EQ(layer.options().backend, "xsimd");
  EXPECT_TRUE(warnings_.empty());

  const Choice slower = choose_for(shape_, any(tuned_for(shape_, 0.4)));
  EXPECT_EQ(slower.precision, Precision::f32);
  EXPECT_EQ(slower.unit, Unit::none);
}

TEST_F(LayerLikeF32, GivesTheBitsOfThePrecisionItTook) {
  const std::string file = tuned_for(shape_, 1);
  AttentionOptions named = any();
  named.backend = "xsimd";
  named.formulation = Formulation::fused;
  named.precision = Precision::bf16x6;
  const Matrix of_parts = output_of(layer_for(shape_, data_.weights, named));
  EXPECT_TRUE(same_bits(output_of(layer_for(shape_, data_.weights, any(file))), of_parts));
  AttentionOptions f32 = any(file);
  f32.precision = Precision::f32;
  EXPECT_EQ(choose_for(shape_, f32).precision, Precision::f32);
  EXPECT_EQ(choose_for(shape_, f32).precision_reason, "");
  EXPECT_FALSE(same_bits(output_of(layer_for(shape_, data_.weights, f32)), of_parts));
}

TEST_F(LayerLikeF32, ANamedBackendChoosesLikewise) {
  AttentionOptions named = any(tuned_for(shape_, 1));
  named.backend = "xsimd";
  named.formulation = Formulation::fused;
  const Choice choice = choose_for(shape_, named);
  EXPECT_EQ(choice.source, Choice::Source::caller);
  EXPECT_EQ(choice.precision, Precision::bf16x6);
  named.formulation = std::nullopt;  // split, of which the file has no time
  EXPECT_EQ(choose_for(shape_, named).precision, Precision::f32);
  EXPECT_EQ(warnings_.size(), 1U) << "the file said nothing";
  named.backend = "naive";
  EXPECT_EQ(choose_for(shape_, named).precision, Precision::f32);
}

TEST_F(LayerLikeF32, WithoutAFileTheEmulatorIsNobodysChoice) {
  const Choice choice = choose_for(shape_, any());
  EXPECT_EQ(choice.source, Choice::Source::rule);
  EXPECT_EQ(choice.precision, Precision::f32);
  EXPECT_NE(choice.precision_reason.find("by rule: emulated is slower"), std::string::npos)
      << choice.precision_reason;
  AttentionOptions none = any();
  none.unit = Unit::none;
  EXPECT_NE(choose_for(shape_, none).precision_reason.find("nothing else here"), std::string::npos);
}

TEST_F(LayerLikeF32, StoresWhatItIsToldTo) {
  AttentionOptions halves = any(tuned_for(shape_, 1));
  halves.dtype = Dtype::bf16;
  EXPECT_EQ(choose_for(shape_, halves).precision, Precision::f32)
      << "the file's times are those of float storage";
}

TEST_F(LayerLikeF32, AttentionOverGivenHeadsSaysWhyToo) {
  DotProductSizes most;
  most.batch = 1;
  most.queries = most.keys = 64;
  most.heads = 2;
  most.head_dim = 16;
  const DotProductAttention made(most, {}, any());
  EXPECT_EQ(made.choice().precision, Precision::f32);
  EXPECT_NE(made.choice().precision_reason.find("by rule"), std::string::npos)
      << made.choice().precision_reason;
}

TEST_F(LayerLikeF32, InCItIsNamedAuto) {
  const std::string file = tuned_for(shape_, 1);
  headroom_layer_config config;
  headroom_default_layer_config(&config);
  config.d_in = config.d_out = config.d_proj = 64;
  config.heads = 4;
  headroom_call_sizes largest;
  headroom_default_call_sizes(&largest);
  largest.tokens = 40;
  headroom_options options;
  headroom_default_options(&options);
  options.threads = 1;
  options.unit = "emulated";
  options.precision = "auto";
  options.tuning_file = file.c_str();
  const std::vector<float> values(64 * 64, 0.125F);
  const headroom_matrix matrix = headroom_rows(values.data(), 64, 64);
  headroom_weights weights{};
  weights.size = sizeof weights;
  weights.query = weights.key = weights.value = weights.output = &matrix;
  const std::vector<float> zeros(64);
  const headroom_matrix bias = headroom_rows(zeros.data(), 1, 64);
  weights.output_bias = &bias;
  headroom_layer* layer = nullptr;
  ASSERT_EQ(headroom_create(&config, &largest, &weights, &options, &layer), HEADROOM_OK)
      << headroom_error_text();
  EXPECT_STREQ(headroom_chosen_precision(layer), "bf16x6");
  EXPECT_NE(std::string(headroom_choice_reason(layer)).find("bf16x6: fastest of f32, bf16x6"),
            std::string::npos)
      << headroom_choice_reason(layer);
  headroom_destroy(layer);
  options.precision = nullptr;
  ASSERT_EQ(headroom_create(&config, &largest, &weights, &options, &layer), HEADROOM_OK);
  EXPECT_STREQ(headroom_chosen_precision(layer), "f32") << "who names none in C asks for f32";
  headroom_destroy(layer);
}

}  // namespace
}  // namespace headroom::test::layer_like_f32_test
