// Configurations as published checkpoints spell them, and as transformers writes them today: both
// say the same of a layer.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/model_entries.hpp"
#include "weights/layer/config/read_config.hpp"

namespace headroom::weights::config_spellings_test {
namespace {

using nlohmann::json;

json parsed(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

ModelConfig read(const json& fields, std::int64_t layer) {
  return read_config_fields("config.json", fields, {.number = layer});
}

TEST(ConfigSpellings, SayTheSameOfEachLayer) {
  for (const json& entry : parsed(test::models_folder() / "models.json")) {
    const std::filesystem::path folder =
        test::models_folder() / entry.at("folder").get<std::string>();
    const std::int64_t layer = entry.at("layer");
    SCOPED_TRACE(folder.filename().string() + " " + std::to_string(layer));
    const ModelConfig published = read(parsed(folder / "published.json"), layer);
    const ModelConfig today = read(parsed(folder / "config.json"), layer);
    EXPECT_EQ(published.rules, today.rules);
    EXPECT_EQ(published.window, today.window);
    EXPECT_EQ(published.heads, today.heads);
    EXPECT_EQ(published.causal, today.causal);
    EXPECT_EQ(published.turns, today.turns);
    EXPECT_EQ(published.foreign, today.foreign);
    EXPECT_EQ(published.slope_factor, today.slope_factor);
    EXPECT_EQ(published.qkv_groups, today.qkv_groups);
  }
}

// Published files of Llama 4 have an empty list of layers without positions: it is every fourth.
TEST(ConfigSpellings, Llama4CountsItsLayersWithoutPositions) {
  json fields = parsed(test::models_folder() / "llama4" / "published.json");
  for (const json& list : {json::array(), json()}) {
    fields["no_rope_layers"] = list;
    for (std::int64_t layer = 0; layer < 8; ++layer) {
      const ModelConfig config = read(fields, layer);
      EXPECT_EQ(config.turns, layer % 4 != 3) << layer;
      EXPECT_EQ(config.rules.chunk, layer % 4 != 3 ? 7 : 0) << layer;
      EXPECT_EQ(config.rules.temperature.step > 0, layer % 4 == 3) << layer;
    }
  }
  fields["no_rope_layer_interval"] = 2U;
  EXPECT_FALSE(read(fields, 1).turns);
}

// DeepSeek V3's code turns pairs of halves where a file asks for them; that of V2 knows no such
// field.
TEST(ConfigSpellings, DeepSeekV2AlwaysTurnsNeighbours) {
  for (const auto& [folder, pairs] : {std::pair("deepseek_v2", Rotary::Pairs::neighbours),
                                      std::pair("deepseek_v3", Rotary::Pairs::halves)}) {
    json fields = parsed(test::models_folder() / folder / "config.json");
    EXPECT_EQ(read(fields, 1).rules.rotary.pairs, Rotary::Pairs::neighbours) << folder;
    fields["rope_interleave"] = false;
    EXPECT_EQ(read(fields, 1).rules.rotary.pairs, pairs) << folder;
  }
}

// Which of three positions a section is of depends on the family.
TEST(ConfigSpellings, SectionsOfAnUnknownFamilyAreRefused) {
  json fields = parsed(test::models_folder() / "qwen3" / "config.json");
  const std::int64_t pairs = fields.at("head_dim").get<std::int64_t>() / 2;
  fields["rope_parameters"]["mrope_section"] = {1, 1, pairs - 2};
  fields["model_type"] = "qwen2_vl_text";
  EXPECT_TRUE(read(fields, 0).rules.rotary.has_sections());
  EXPECT_TRUE(read(fields, 0).foreign.empty());
  fields["model_type"] = "ernie4_5_vl_moe_text";
  ASSERT_EQ(read(fields, 0).foreign.size(), 1U);
  EXPECT_NE(read(fields, 0).foreign[0].find("mrope_section"), std::string::npos);
}

}  // namespace
}  // namespace headroom::weights::config_spellings_test
