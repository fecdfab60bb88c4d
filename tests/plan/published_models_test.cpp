// `--model` has what the published configuration of the model says, read as `--config` reads it.
// tests/data/published.json has the fields of `config.json` that say something of attention, with
// the names of the repositories on huggingface.co. Where they were looked up in November 2026:
// DeepSeek V2-Lite and V3 and Granite 3.3 in copies of the file itself; Kimi K2 in
// Megatron-Bridge's provider, and its stretch in a small model made of that file; Llama 4 in
// fixtures of other projects; gpt-oss, BERT and ModernBERT in the classes of transformers 5.24,
// whose defaults they are; all others in litgpt's config.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "plan/shapes/config_shape.hpp"
#include "support/refusals.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::plan::published_models_test {
namespace {

using nlohmann::json;

json published() {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/published.json");
  return json::parse(file);
}

/// What both have to agree on; 0 key heads are as many as heads.
struct Sizes {
  std::int64_t d_model, heads, head_dim, kv_heads;

  explicit Sizes(const ShapeSeed& seed)
      : d_model(seed.d_model),
        heads(seed.heads),
        head_dim(seed.head_dim),
        kv_heads(seed.kv_heads > 0 ? seed.kv_heads : seed.heads) {}
  bool operator==(const Sizes&) const = default;
};

/// A scale that is the usual one may be said or not.
double scale_of(const ShapeSeed& seed) {
  return seed.rules.scale > 0 ? seed.rules.scale
                              : 1 / std::sqrt(static_cast<double>(seed.head_dim));
}

class PublishedModels : public test::TemporaryFolder {};

TEST_F(PublishedModels, HaveThePresetsThatAreNamedAfterThem) {
  std::set<std::string> models;
  for (const json& entry : published()) {
    const std::string name = entry.at("model");
    SCOPED_TRACE(name);
    EXPECT_TRUE(models.insert(name).second);
    write(name + ".json", entry.at("config").dump());
    ShapeSeed file =
        config_shape(path_ / (name + ".json"), std::to_string(entry.at("layer").get<int>()), {});
    ShapeSeed preset = model_shape(name);
    EXPECT_EQ(Sizes(preset), Sizes(file));
    EXPECT_NEAR(scale_of(preset), scale_of(file), 1e-15);
    preset.rules.scale = file.rules.scale = 0;
    EXPECT_EQ(preset.rules, file.rules);
  }
  EXPECT_GE(models.size(), 52U);
}

class ConfigShapes : public test::TemporaryFolder {};

// Layers of an encoder and of a decoder have the same numbers.
TEST_F(ConfigShapes, AStackIsChosenByName) {
  write("t5.json", R"({"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4})");
  write("bart.json", R"({"model_type": "bart", "d_model": 64, "encoder_attention_heads": 4,
      "decoder_attention_heads": 8})");
  EXPECT_FALSE(config_shape(path_ / "t5.json", "encoder.1", {}).rules.causal);
  EXPECT_TRUE(config_shape(path_ / "t5.json", "decoder.1", {}).rules.causal);
  EXPECT_EQ(config_shape(path_ / "t5.json", "decoder.1", {}).rules.scale, 1);
  EXPECT_EQ(config_shape(path_ / "bart.json", "encoder.0", {}).heads, 4);
  EXPECT_EQ(config_shape(path_ / "bart.json", "decoder.0", {}).heads, 8);
  test::expect_refused<InvalidArgument>("give encoder.N or decoder.N",
                                        [&] { config_shape(path_ / "t5.json", "1", {}); });
}

TEST_F(ConfigShapes, AnUnknownFamilyIsReadAsTheOneThatIsNamed) {
  write("new.json", R"({"model_type": "new", "hidden_size": 64, "num_attention_heads": 4})");
  test::expect_refused<Unsupported>("'new' is not a family that headroom knows",
                                    [&] { config_shape(path_ / "new.json", {}, {}); });
  EXPECT_TRUE(config_shape(path_ / "new.json", {}, "llama").rules.causal);
  EXPECT_FALSE(config_shape(path_ / "new.json", {}, "bert").rules.causal);
}

}  // namespace
}  // namespace headroom::plan::published_models_test
