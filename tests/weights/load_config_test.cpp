// What the configuration of a model says of a layer whose weights are loaded.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/load.hpp"

namespace headroom::test::load_config_test {
namespace {

TEST_F(Load, TheConfigurationSaysWhatTheTensorsDoNot) {
  write("model/model.safetensors", llama());
  write("model/config.json",
        R"({"model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 2, "rope_theta": 500000.0, "sliding_window": 7})");
  const Loaded loaded = load({}, "model");
  EXPECT_EQ(loaded.config.heads, 4);
  EXPECT_EQ(loaded.config.window, 7);
  EXPECT_TRUE(loaded.config.causal);
  EXPECT_EQ(loaded.config.rotary, (Rotary{Rotary::Pairs::halves, 500000, 1}));
  EXPECT_TRUE(loaded.notes.empty()) << "nothing had to be assumed";
  // What differs from the model is done, and said.
  WeightsOptions options;
  options.causal = true;
  options.window = 3;
  options.rotary = Rotary{};
  const Loaded other = load(options, "model");
  EXPECT_EQ(other.config.window, 3);
  EXPECT_EQ(other.config.rotary.pairs, Rotary::Pairs::none);
  EXPECT_EQ(other.notes.size(), 2U);
  // What the model cannot be is refused.
  expect_refused<InvalidArgument>("--heads: 8 was given, but ", with_heads(8), "model");
  expect_refused<InvalidArgument>("says 4; leave the option out", with_heads(8), "model");
  EXPECT_EQ(load(with_heads(4), "model").config, loaded.config);
}

TEST_F(Load, RotaryPositionsOfNamedTensorsAreTheUsersToSay) {
  write("model/model.safetensors", llama());
  write("model/config.json", R"({"num_attention_heads": 4, "rope_theta": 500000.0})");
  const std::string prefix = "model.layers.0.self_attn.";
  WeightsOptions options;
  options.tensors = {{"query", prefix + "q_proj.weight"},
                     {"key", prefix + "k_proj.weight"},
                     {"value", prefix + "v_proj.weight"}};
  const Loaded silent = load(options, "model");
  EXPECT_EQ(silent.config.rotary.pairs, Rotary::Pairs::none);
  EXPECT_NE(silent.notes.back().find("no rotary positions, although "), std::string::npos);
  options.rotary = Rotary{Rotary::Pairs::neighbours};
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::neighbours, 500000, 1}))
      << "the pairs are the user's, the base is the model's";
  options.rotary = Rotary{Rotary::Pairs::halves, 77, 0.5};
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::halves, 77, 0.5}));
}

TEST_F(Load, ConfigurationsThatAreNoneAreRefused) {
  write("model/model.safetensors", llama());
  const auto expect = [&](const std::string& config, const std::string& part) {
    write("model/config.json", config);
    expect_refused<FileError>(part, {}, "model");
  };
  expect("", "it is no JSON from line 1, column 1 on");
  expect("{\"a\": 1,\n \"scale\": Infinity}", "line 2, column 11 on, near ' \"scale\": Infinity}'");
  expect("[1, 2]", "it is no JSON object");
  expect(std::string(1'000'000, '['), "it is no JSON from line 1, column 1000001");
  expect(R"({"num_attention_heads": -4})", "'num_attention_heads' is not a whole number from 1");
  expect(R"({"num_attention_heads": 1e99})", "'num_attention_heads'");
  expect(R"({"num_attention_heads": "4"})", "'num_attention_heads'");
  expect(R"({"num_attention_heads": 4, "rope_theta": 0})", "'rope_theta' is not a number above 0");
  expect(R"({"num_attention_heads": 4, "rope_scaling": 3})", "'rope_scaling'");
  const auto scaling = [&](const std::string& fields, const std::string& word) {
    expect(R"({"num_attention_heads": 4, "head_dim": 8, "rope_scaling": {)" + fields + "}}", word);
  };
  const std::string pairs = "'rope_scaling.mrope_section' is not ";
  scaling(R"("mrope_section": [2, 2])", pairs + "three whole numbers");
  scaling(R"("mrope_section": [1, 1, 1])", pairs + "three whole numbers");
  scaling(R"("mrope_section": [1, 1, 2.5])", pairs + "three whole numbers");
  scaling(R"("mrope_section": 4)", pairs + "a list");
  scaling(R"("type": "dynamic", "factor": 2)", "'rope_scaling.max_position_embeddings' is not");
  scaling(R"("type": "dynamic", "factor": 0.5)", "'rope_scaling.factor' is not a number of 1");
  scaling(R"("type": "dynamic")", "'rope_scaling.factor' is not a number above 0");
  scaling(R"("type": "longrope", "original_max_position_embeddings": 1.5)", "'rope_scaling.short");
  expect(R"({"model_type": 3})", "'model_type'");
  expect("{\"a\": \"" + std::string(std::size_t{4} << 20, 'x') + "\"}", "larger than");
}

TEST_F(Load, LayersOfOneModelMayDiffer) {
  SafetensorsText text;
  for (const char* layer : {"0", "1"}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      text.add(std::string(layer) + "." + name + ".weight", {4, 4}, ramp(4, 4, 0));
    }
  }
  write("model/model.safetensors", text);
  write("model/config.json",
        R"({"num_attention_heads": 2, "sliding_window": 5, "model_type": "ministral",
        "num_key_value_heads": 2, "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"rope_theta": 1000, "rope_type": "linear", "factor": 4}})");
  WeightsOptions options;
  EXPECT_EQ(load(options, "model").config.window, 5);
  options.layer = "1";
  EXPECT_EQ(load(options, "model").config.window, 0);
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::halves, 1000, 0.25}));
}

TEST_F(Load, WhatTheLayerDoesNotComputeIsRefused) {
  write("model/model.safetensors", llama());
  for (const char* field :
       {R"("head_dim": 2, "rope_scaling": {"rope_type": "proportional", "factor": 8})",
        R"("rotary_dim": 8)", R"("model_type": "gpt_neo")",
        R"("position_embedding_type": "relative_key")",
        R"("scale_attn_by_inverse_layer_idx": true)", R"("scale_attn_weights": false)"}) {
    write("model/config.json", "{\"num_attention_heads\": 4, " + std::string(field) + "}");
    expect_refused<Unsupported>("which headroom does not compute", {}, "model");
  }
  write("model/config.json", R"({"num_attention_heads": 4, "hidden_size": 8,
      "partial_rotary_factor": 1.0, "clip_qkv": null, "scale_attn_weights": true, "position_embedding_type": "absolute"})");
  EXPECT_EQ(load({}, "model").config.heads, 4);
  SafetensorsText text = llama();
  text.add("model.layers.0.self_attn.q_norm.weight", {2}, {1, 1});
  write("model/model.safetensors", text);
  expect_refused<Unsupported>("the layer has model.layers.0.self_attn.q_norm.weight", {}, "model");
}

TEST_F(Load, WhatScoresAreIsReadFromTheConfiguration) {
  write("model/model.safetensors", llama());
  write("model/config.json", R"({"num_attention_heads": 4, "attn_logit_softcapping": 50.0,
      "clip_qkv": 8, "query_pre_attn_scalar": 16})");
  const LayerConfig config = load({}, "model").config;
  EXPECT_EQ(config.softcap, 50);
  EXPECT_EQ(config.clip, 8);
  EXPECT_EQ(config.scale, 0.25);
}

}  // namespace
}  // namespace headroom::test::load_config_test
