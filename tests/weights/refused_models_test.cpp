// Files that mean another layer than the names of their tensors would have it: refused by name, and
// not computed as something else.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/load.hpp"
#include "support/model_entries.hpp"
#include "weights/layer/families.hpp"

namespace headroom::test::refused_models_test {
namespace {

constexpr const char* kHeads = R"("num_attention_heads": 4, "num_key_value_heads": 2, )";

class RefusedModel : public Load {
 protected:
  void write_config(const std::string& fields) const {
    write("model/config.json", "{" + fields + "}");
  }
  // Of a family of Llama's layout.
  void write_family(const std::string& family, const std::string& more) const {
    write_config(kHeads + std::string(R"("head_dim": 2, "hidden_size": 6, "model_type": ")") +
                 family + "\"" + (more.empty() ? "" : ", ") + more);
  }
  void SetUp() override {
    Load::SetUp();
    write("model/model.safetensors", llama());
  }
};

TEST_F(RefusedModel, UnknownFamiliesAreComputedWhereTheUserSaysAsWhat) {
  for (const char* family : {"dbrx", "ministral3", "roformer", "some_new_model"}) {
    write_family(family, R"("rope_theta": 5000.0)");
    expect_refused<Unsupported>(family, {}, "model");
    expect_refused<Unsupported>("--family", {}, "model");
    WeightsOptions options;
    options.family = "llama";
    const Loaded loaded = load(options, "model");
    EXPECT_EQ(loaded.config.rotary, (Rotary{Rotary::Pairs::halves, 5000}));
    ASSERT_EQ(loaded.notes.size(), 1U);
    EXPECT_EQ(loaded.notes[0], "computed as a layer of llama, as asked");
  }
  WeightsOptions options;
  options.family = "lama";
  expect_refused<InvalidArgument>("did you mean 'llama'?", options, "model");
}

TEST_F(RefusedModel, TensorsThatNoLayoutNamesAreRefused) {
  write_family("llama", "");
  const std::string prefix = "model.layers.0.self_attn.";
  for (const char* name :
       {"query_layernorm.weight", "attn_sub_norm.weight", "lambda_q1", "gate_proj.weight",
        "v_norm.weight", "indexer.wk.weight", "q_proj.lora_A.weight", "k_proj.weight_scale_inv",
        "q_layernorm.norms.0.weight", "sinks", "rel_pos", "q_norm.weight",
        "inner_attn_ln.weight"}) {
    SafetensorsText text = llama();
    text.add(prefix + name, {2}, {1, 1});
    write("model/model.safetensors", text);
    expect_refused<Unsupported>("the layer has " + prefix + name, {}, "model");
  }
  SafetensorsText text = llama();
  text.add(prefix + "rotary_emb.inv_freq", {1}, {1});
  text.add("model.layers.0.input_layernorm.weight", {6}, {1, 1, 1, 1, 1, 1});
  write("model/model.safetensors", text);
  EXPECT_EQ(load({}, "model").config.heads, 4);
}

TEST_F(RefusedModel, FieldsOfAttentionThatNothingReadsAreRefused) {
  for (const auto& [family, field] : std::vector<std::pair<const char*, const char*>>{
           {"llama", R"("sliding_window": 4)"},
           {"llama", R"("query_pre_attn_scalar": 16)"},
           {"llama", R"("use_bidirectional_attention": true)"},
           {"llama", R"("rotary_emb_base": 5000)"},
           {"llama", R"("partial_rotary_factor": 0.5)"},
           {"llama", R"("attn_temperature_tuning": true)"},
           {"llama", R"("alibi": true)"},
           {"llama", R"("use_qk_norm": true)"},
           {"gemma", R"("use_bidirectional_attention": true)"},
           {"cohere", R"("use_qk_norm": true)"},
           {"mistral", R"("attn_logit_softcapping": 30.0)"},
           {"qwen3", R"("attention_sink_size": 4)"},
           {"ministral", R"("layer_types": ["linear_attention"])"},
           {"ministral",
            R"("rope_parameters": {"rope_theta": 10000, "llama_4_scaling_beta": 0.1})"},
       }) {
    SCOPED_TRACE(std::string(family) + " " + field);
    write_family(family, field);
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    const bool of_scaling = name == "rope_parameters";
    expect_refused<Unsupported>(of_scaling ? "rope_scaling.llama_4_scaling_beta" : name, {},
                                "model");
  }
}

// A window of Qwen's is off where no field says that it is on.
TEST_F(RefusedModel, MissingFieldsMeanWhatTheClassHas) {
  SafetensorsText text = llama();
  for (const auto& [name, count] : {std::pair("q", 8), std::pair("k", 4), std::pair("v", 4)}) {
    text.add(std::string("model.layers.0.self_attn.") + name + "_proj.bias", {count},
             std::vector<float>(static_cast<std::size_t>(count)));
  }
  write("model/model.safetensors", text);
  write_family("qwen2", R"("sliding_window": 5, "max_window_layers": 0)");
  EXPECT_EQ(load({}, "model").config.window, 0);
  write_family("qwen2",
               R"("sliding_window": 5, "max_window_layers": 0, "use_sliding_window": true)");
  EXPECT_EQ(load({}, "model").config.window, 5);
  write_family("qwen2",
               R"("sliding_window": 5, "max_window_layers": 1, "use_sliding_window": true)");
  EXPECT_EQ(load({}, "model").config.window, 0);
}

TEST_F(RefusedModel, DecodersMayBeToldToLookBothWays) {
  write_family("llama", R"("is_causal": false)");
  EXPECT_FALSE(load({}, "model").config.causal);
  write_family("ministral", R"("is_causal": false, "sliding_window": 3)");
  EXPECT_EQ(load({}, "model").config.window, 4) << "both ends count";
}

TEST_F(RefusedModel, BiasesAreWhatTheConfigurationSays) {
  write_family("llama", R"("attention_bias": true)");
  expect_refused<FileError>("have biases, and the tensors have none", {}, "model");
  SafetensorsText text = llama();
  text.add("model.layers.0.self_attn.q_proj.bias", {8}, std::vector<float>(8));
  write("model/model.safetensors", text);
  EXPECT_TRUE(load({}, "model").config.qkv_bias);
  write_family("llama", "");
  expect_refused<FileError>("have no biases, and the tensors have some", {}, "model");
}

TEST_F(RefusedModel, HeadsOfKeysDivideThoseOfQueries) {
  for (const char* heads : {R"("num_attention_heads": 5, "num_key_value_heads": 4)",
                            R"("num_attention_heads": 3, "num_key_value_heads": 4)"}) {
    write_config(heads);
    expect_refused<FileError>("'num_key_value_heads' is not a divisor of the ", {}, "model");
  }
}

// The part of a model that a layer is of says which of the nested configurations is its own.
TEST_F(RefusedModel, EachPartHasAConfigurationOfItsOwn) {
  const std::string vision = "vision_model.encoder.layers.0.self_attn.";
  SafetensorsText text;
  for (const char* part : {"text_model", "vision_model"}) {
    const std::string prefix = part + std::string(".encoder.layers.0.self_attn.");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      text.add(prefix + name + ".weight", {8, 8}, ramp(8, 8, 0));
      text.add(prefix + name + ".bias", {8}, ramp(1, 8, 0));
    }
  }
  write("model/model.safetensors", text);
  write_config(R"("model_type": "clip",
      "text_config": {"model_type": "clip_text_model", "num_attention_heads": 4},
      "vision_config": {"model_type": "clip_vision_model", "num_attention_heads": 2})");
  WeightsOptions options;
  options.layer = "vision_model.encoder.layers.0.self_attn";
  EXPECT_EQ(load(options, "model").config.heads, 2);
  EXPECT_FALSE(load(options, "model").config.causal);
  options.layer = "text_model.encoder.layers.0.self_attn";
  EXPECT_EQ(load(options, "model").config.heads, 4);
  EXPECT_TRUE(load(options, "model").config.causal);
  write_config(R"("model_type": "clip", "text_config": {"num_attention_heads": 4},
      "vision_config": {"num_attention_heads": 2})");
  expect_refused<Unsupported>("text_config of clip", options, "model");
}

TEST_F(RefusedModel, LanguageHasSeveralNamesInConfigurations) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const std::string nested = "\"" + std::string(key) + R"(": {"model_type": "llama", )" + kHeads +
                               R"("head_dim": 2, "rope_theta": 5000.0})";
    write_config(R"("model_type": "internvl_chat", )" + nested);
    EXPECT_EQ(load({}, "model").config.rotary, (Rotary{Rotary::Pairs::halves, 5000})) << key;
    // One that masks its parts in a way of its own.
    write_config(R"("model_type": "paligemma", )" + nested);
    expect_refused<Unsupported>("model_type 'paligemma'", {}, "model");
  }
}

// docs/run.md lists those that are computed.
TEST(Families, AreInTheManual) {
  const auto root = models_folder().parent_path().parent_path().parent_path();
  std::ifstream file(root / "docs/run.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t start = page.find("<!-- families -->"),
                    end = page.find("<!-- end of families -->");
  ASSERT_LT(start, end);
  const std::string list = page.substr(start, end - start);
  for (const std::string& name : weights::family_names()) {
    const bool computed = weights::find_family(name)->foreign.empty();
    EXPECT_EQ(list.find("`" + name + "`") != std::string::npos, computed) << name;
  }
}

}  // namespace
}  // namespace headroom::test::refused_models_test
