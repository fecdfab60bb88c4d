// A layer of every family of tests/data/models, as transformers made it: read from its files with
// its config.json, computed by every backend, and held against what the model itself gives in
// float64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/headroom.h"
#include "headroom/load_weights.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::test {
namespace {

using nlohmann::json;

const std::filesystem::path kModels = std::filesystem::path(HEADROOM_TEST_DATA) / "models";

// The bound of the project's contract for float32, and what is left of it for float64, where
// weights of norms are rounded once when one is added to them.
constexpr double kMostInFloat = 2e-6;
constexpr double kMostInDouble = 1e-7;

/// What is not computed yet: refused by name, or not found among the tensors.
bool is_refused(const json& entry) {
  static const std::set<std::string> folders{"deepseek_v3", "deepseek_plain"};
  return folders.contains(entry.at("folder"));
}

const json& entries() {
  static const json all = [] {
    std::ifstream file(kModels / "models.json");
    json kept = json::array();
    for (const json& entry : json::parse(file)) {
      // A layer turns by the divisors for long contexts, where its model has two sets; and no file
      // says that a layer has a second input.
      const bool takes_part =
          entry.at("file") != "layer1_short.safetensors" && entry.at("kind") != "cross";
      if (takes_part) kept.push_back(entry);
    }
    return kept;
  }();
  return all;
}

std::string name_of(const json& entry) {
  return entry.at("folder").get<std::string>() + " " + entry.at("kind").get<std::string>();
}

std::vector<double> read_doubles(const std::filesystem::path& path, const std::string& name,
                                 std::vector<std::int64_t>& dims) {
  weights::TensorSet set(path);
  const weights::StoredTensor stored = set.find(name);
  dims = stored.tensor.dims;
  std::vector<char> bytes(static_cast<std::size_t>(stored.tensor.bytes));
  stored.file->read(stored.tensor.offset, bytes);
  if (*stored.tensor.type == weights::Element::f64) {
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

double nrmse(std::span<const double> expected, std::span<const double> found) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

/// The layer of an entry, with its input.
Layer layer_of(const json& entry) {
  const std::filesystem::path folder = kModels / entry.at("folder").get<std::string>();
  const std::string query =
      entry.at("tensors").at("projections").at(0).at("weight").get<std::string>();
  WeightsOptions options;
  options.layer = std::to_string(entry.at("layer").get<int>());
  // An encoder and a decoder have layers of the same numbers.
  if (query.find("encoder.") == 0 || query.find("decoder.") == 0 ||
      query.find("model.encoder.") == 0 || query.find("model.decoder.") == 0) {
    options.layer = query.substr(0, query.rfind('.', query.rfind('.') - 1));
  }
  const LayerWeights loaded = load_weights(folder / "model.safetensors", options);
  EXPECT_TRUE(loaded.notes.empty()) << name_of(entry) << ": " << loaded.notes.front();
  Layer layer{{loaded.config, {}, {}}, to_split(loaded.weights), {}};
  std::vector<std::int64_t> dims;
  const std::vector<double> x =
      read_doubles(folder / entry.at("file").get<std::string>(), "x", dims);
  layer.shape.tokens = dims.at(dims.size() - 2);
  layer.shape.batch = 1;
  layer.x = Matrix(layer.shape.tokens, dims.back());
  for (std::size_t i = 0; i < x.size(); ++i) layer.x.values[i] = static_cast<float>(x[i]);
  return layer;
}

std::vector<double> expected_of(const json& entry) {
  std::vector<std::int64_t> dims;
  const std::filesystem::path folder = kModels / entry.at("folder").get<std::string>();
  return read_doubles(folder / entry.at("file").get<std::string>(), "expected", dims);
}

TEST(ModelLayers, HaveFamiliesThatAreComputed) {
  std::set<std::string> families;
  for (const json& entry : entries()) {
    if (!is_refused(entry)) families.insert(entry.at("family"));
  }
  EXPECT_EQ(families.size(), 21U);  // all but DeepSeek V3
}

TEST(ModelLayers, AreRefusedWhereTheyAreNotComputed) {
  for (const json& entry : entries()) {
    if (!is_refused(entry)) continue;
    try {
      const Layer layer = layer_of(entry);
      const std::vector<double> y = oracle(layer).y;
      ADD_FAILURE() << name_of(entry) << " is no longer refused: nrmse "
                    << nrmse(expected_of(entry), y);
    } catch (const Unsupported&) {
    } catch (const FileError&) {
    } catch (const InvalidArgument&) {
    }
  }
}

TEST(ModelLayers, AreWhatTheOracleComputes) {
  for (const json& entry : entries()) {
    if (is_refused(entry)) continue;
    SCOPED_TRACE(name_of(entry));
    const Layer layer = layer_of(entry);
    const std::vector<double> expected = expected_of(entry);
    const std::vector<double> y = oracle(layer).y;
    ASSERT_EQ(y.size(), expected.size());
    EXPECT_LE(nrmse(expected, y), kMostInDouble) << layer.shape.id();
  }
}

// C has no words for norms yet, and a layer without its own would be another one.
TEST(ModelLayers, AreRefusedToCWhereItCannotSayThem) {
  const auto load = [](const char* family) {
    headroom_stored* stored = nullptr;
    const headroom_status status =
        headroom_load((kModels / family / "model.safetensors").c_str(), nullptr, &stored);
    headroom_stored_destroy(stored);
    return status;
  };
  EXPECT_EQ(load("mistral"), HEADROOM_OK);
  EXPECT_EQ(load("qwen3"), HEADROOM_UNSUPPORTED);
  EXPECT_EQ(load("gemma2"), HEADROOM_UNSUPPORTED);
  EXPECT_EQ(load("llama3"), HEADROOM_UNSUPPORTED) << "its rotary positions are stretched";
}

class ModelLayersOf : public LayerTest {};

TEST_P(ModelLayersOf, AreWhatTheModelComputes) {
  for (const json& entry : entries()) {
    if (is_refused(entry)) continue;
    const Layer layer = layer_of(entry);
    const Matrix y = run(GetParam(), layer);
    const std::vector<double> found(y.values.begin(), y.values.end());
    EXPECT_LE(nrmse(expected_of(entry), found), kMostInFloat)
        << name_of(entry) << ": " << layer.shape.id();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelLayersOf, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test
