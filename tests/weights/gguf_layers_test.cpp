// Layers of tests/data/models from GGUF files, held against what their models give.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headroom/load_weights.hpp"
#include "support/gguf_model.hpp"
#include "support/layer_cases.hpp"
#include "support/model_entries.hpp"

namespace headroom::test::gguf_layers_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The bound of the project's contract for float32. Metadata and factors are stored as float32, so
// the oracle differs as well, by a rounding of each.
constexpr double kMostInFloat = 2e-6;
constexpr double kMostInDouble = 5e-7;

std::vector<json> entries() {
  std::ifstream file(models_folder() / "models.json");
  std::vector<json> kept;
  for (const json& entry : json::parse(file)) {
    if (gguf_architecture_of(entry.at("folder"))) kept.push_back(entry);
  }
  return kept;
}

LayerWeights load(const std::string& text) {
  const fs::path path =
      fs::path(testing::TempDir()) / ("headroom-" + std::to_string(getpid()) + ".gguf");
  std::ofstream(path, std::ios::binary) << text;
  LayerWeights loaded = load_weights(path);
  fs::remove(path);
  return loaded;
}

const std::vector<std::pair<json, Layer>>& layers() {
  static const std::vector<std::pair<json, Layer>> all = [] {
    std::vector<std::pair<json, Layer>> made;
    for (const json& entry : entries()) {
      const LayerWeights loaded = load(gguf_of(entry).text());
      EXPECT_TRUE(loaded.notes.empty()) << entry.at("folder") << ": " << loaded.notes.front();
      made.emplace_back(entry, with_input(loaded, entry));
    }
    return made;
  }();
  return all;
}

TEST(GgufLayers, AreWhatTheOracleComputes) {
  std::set<std::string> architectures;
  for (const auto& [entry, layer] : layers()) {
    EXPECT_LE(nrmse(expected_of(entry), oracle(layer).y), kMostInDouble)
        << entry.at("folder") << ": " << layer.shape.id();
    architectures.insert(*gguf_architecture_of(entry.at("folder")));
  }
  EXPECT_EQ(architectures.size(), 13U);
}

// tests/models/make_gguf.py wrote these with the package that converters use.
TEST(GgufLayers, OfFilesOfTheUsualWriterAreTheSame) {
  int files = 0;
  for (const auto& [entry, converted] : layers()) {
    const fs::path path =
        fs::path(HEADROOM_TEST_DATA) / "gguf" / (entry.at("folder").get<std::string>() + ".gguf");
    if (entry.at("layer") != 1 || !fs::exists(path)) continue;
    const LayerWeights loaded = load_weights(path);
    EXPECT_EQ(loaded.layer, "blk.1");
    EXPECT_EQ(loaded.config.id(), static_cast<const LayerConfig&>(converted.shape).id());
    const Layer layer = with_input(loaded, entry);
    EXPECT_LE(nrmse(expected_of(entry), oracle(layer).y), kMostInDouble) << entry.at("folder");
    ++files;
  }
  EXPECT_EQ(files, 4);
}

class GgufLayersOf : public LayerTest {};

TEST_P(GgufLayersOf, AreWhatTheModelComputes) {
  for (const auto& [entry, layer] : layers()) {
    const Matrix y = run(GetParam(), layer);
    const std::vector<double> found(y.values.begin(), y.values.end());
    EXPECT_LE(nrmse(expected_of(entry), found), kMostInFloat)
        << entry.at("folder") << ": " << layer.shape.id();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GgufLayersOf, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::gguf_layers_test
