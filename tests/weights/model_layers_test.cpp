// A layer of every family of tests/data/models, as transformers made it: read from its files with
// its config.json, computed by every backend, and held against what the model itself gives in
// float64.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "headroom/headroom.h"
#include "headroom/load_weights.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"
#include "support/model_entries.hpp"

namespace headroom::test::model_layers_test {
namespace {

using nlohmann::json;

// The bound of the project's contract for float32, and what is left of it for float64, where
// weights of norms are rounded once when one is added to them.
constexpr double kMostInFloat = 2e-6;
constexpr double kMostInDouble = 1e-7;

const json& entries() {
  static const json all = [] {
    std::ifstream file(models_folder() / "models.json");
    json kept = json::array();
    for (const json& entry : json::parse(file)) {
      // No file says that a layer has a second input.
      if (entry.at("kind") != "cross") kept.push_back(entry);
    }
    return kept;
  }();
  return all;
}

std::string name_of(const json& entry) {
  return entry.at("folder").get<std::string>() + " " + entry.at("kind").get<std::string>();
}

/// What names the layer of an entry among those of its model.
std::string layer_name(const json& entry) {
  const std::string query =
      entry.at("tensors").at("projections").at(0).at("weight").get<std::string>();
  // An encoder and a decoder have layers of the same numbers.
  if (query.find("encoder.") == 0 || query.find("decoder.") == 0 ||
      query.find("model.encoder.") == 0 || query.find("model.decoder.") == 0) {
    return query.substr(0, query.rfind('.', query.rfind('.') - 1));
  }
  return std::to_string(entry.at("layer").get<int>());
}

/// The layer of an entry, with its input.
Layer layer_of(const json& entry) {
  const std::filesystem::path folder = models_folder() / entry.at("folder").get<std::string>();
  WeightsOptions options;
  options.layer = layer_name(entry);
  const LayerWeights loaded = load_weights(folder / "model.safetensors", options);
  EXPECT_TRUE(loaded.notes.empty()) << name_of(entry) << ": " << loaded.notes.front();
  return with_input(loaded, entry);
}

TEST(ModelLayers, HaveFamiliesThatAreComputed) {
  std::set<std::string> families;
  for (const json& entry : entries()) families.insert(entry.at("family"));
  EXPECT_EQ(families.size(), 23U);
}

TEST(ModelLayers, AreWhatTheOracleComputes) {
  for (const json& entry : entries()) {
    SCOPED_TRACE(name_of(entry));
    const Layer layer = layer_of(entry);
    const std::vector<double> expected = expected_of(entry);
    const std::vector<double> y = oracle(layer).y;
    ASSERT_EQ(y.size(), expected.size());
    EXPECT_LE(nrmse(expected, y), kMostInDouble) << layer.shape.id();
  }
}

/// What C gives for the layer of an entry: loaded, made and run by `headroom.h` alone.
std::vector<double> run_in_c(const json& entry, const Matrix& x) {
  const std::filesystem::path folder = models_folder() / entry.at("folder").get<std::string>();
  const std::string name = layer_name(entry);
  headroom_load_options which;
  headroom_default_load_options(&which);
  which.layer = name.c_str();
  headroom_stored* stored = nullptr;
  headroom_layer_config config;
  headroom_weights weights;
  headroom_default_layer_config(&config);
  headroom_default_weights(&weights);
  EXPECT_EQ(headroom_load((folder / "model.safetensors").c_str(), &which, &stored), HEADROOM_OK)
      << headroom_error_text();
  EXPECT_EQ(headroom_stored_layer(stored, &config, &weights), HEADROOM_OK);
  headroom_call_sizes largest;
  headroom_default_call_sizes(&largest);
  largest.tokens = x.rows;
  headroom_options options;
  headroom_default_options(&options);
  options.backend = "naive";
  headroom_layer* layer = nullptr;
  EXPECT_EQ(headroom_create(&config, &largest, &weights, &options, &layer), HEADROOM_OK)
      << headroom_error_text();
  headroom_stored_destroy(stored);
  if (layer == nullptr) return {};
  Matrix y(x.rows, config.d_proj > 0 ? config.d_proj : config.d_out);
  const headroom_matrix from = headroom_rows(x.values.data(), x.rows, x.cols);
  const headroom_matrix to = headroom_rows(y.values.data(), y.rows, y.cols);
  EXPECT_EQ(headroom_forward(layer, &from, &to, nullptr), HEADROOM_OK) << headroom_error_text();
  headroom_destroy(layer);
  return {y.values.begin(), y.values.end()};
}

TEST(ModelLayers, AreTheSameInC) {
  for (const json& entry : entries()) {
    SCOPED_TRACE(name_of(entry));
    const std::vector<double> expected = expected_of(entry);
    const std::vector<double> found = run_in_c(entry, layer_of(entry).x);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LE(nrmse(expected, found), kMostInFloat);
  }
}

class ModelLayersOf : public LayerTest {};

TEST_P(ModelLayersOf, AreWhatTheModelComputes) {
  for (const json& entry : entries()) {
    const Layer layer = layer_of(entry);
    const Matrix y = run(GetParam(), layer);
    const std::vector<double> found(y.values.begin(), y.values.end());
    EXPECT_LE(nrmse(expected_of(entry), found), kMostInFloat)
        << name_of(entry) << ": " << layer.shape.id();
  }
}

// Steps of latent layers multiply in another order than prompts; of the others in the same.
TEST_P(ModelLayersOf, AreTheSameStepByStep) {
  for (const json& entry : entries()) {
    const Layer layer = layer_of(entry);
    if (!layer.shape.causal) continue;
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    KeyValueCache cache(attention, {1, layer.shape.tokens});
    Matrix y(layer.shape.tokens, layer.shape.output_width());
    Call call;
    call.cache = &cache;
    call.context = layer.shape.tokens;  // Phi turns otherwise where a context is long
    // The first ones at once, which are many enough to be a prompt.
    std::int64_t at = 0;
    for (std::int64_t count = layer.shape.tokens / 2; at < layer.shape.tokens; count = 1) {
      attention.forward(layer.x.view().slice(at, count), y.view().slice(at, count), call);
      at += count;
    }
    const std::vector<double> found(y.values.begin(), y.values.end());
    EXPECT_LE(nrmse(expected_of(entry), found), kMostInFloat)
        << name_of(entry) << ": " << layer.shape.id();
  }
}

// 16 values and 8 that heads share, where keys and values of 4 heads would be 4 * (16 + 12).
TEST_P(ModelLayersOf, ACacheOfLatentsKeepsThemAlone) {
  constexpr std::int64_t kTokens = 1024, kKept = 16 + 8, kAngles = 8;
  for (const json& entry : entries()) {
    if (entry.at("folder") != "deepseek_v3") continue;
    Layer layer = layer_of(entry);
    layer.shape.tokens = 1;
    const Attention attention = layer_for(layer.shape, layer.weights, GetParam().options(1));
    const std::int64_t bytes = KeyValueCache(attention, {2, kTokens}).bytes();
    if (GetParam().backend == "onednn") {  // which keeps those that are values once more
      EXPECT_GE(bytes, 4 * kTokens * (2 * (kKept + 16) + kAngles));
    } else {
      const std::int64_t weights = GetParam().backend == "naive" || GetParam().backend == "autovec";
      EXPECT_EQ(bytes, 4 * kTokens * (2 * kKept + kAngles + weights));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelLayersOf, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::model_layers_test
