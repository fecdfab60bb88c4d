// Layers of tests/data/families, read with either spelling of their configuration: what the
// family's own code gives, or refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/layer_cases.hpp"
#include "support/model_entries.hpp"
#include "weights/byte_source.hpp"
#include "weights/npy.hpp"

namespace headroom::test::family_layers_test {
namespace {

namespace fs = std::filesystem;

// What shared rounding to float32 leaves: of the family's own code, which takes softmax, norms and
// angles in float32, and of x.
constexpr double kMost = 5e-6;

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(models_folder().parent_path() / "families")) {
    all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Without the end of the line.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

class FamilyLayers : public testing::TestWithParam<fs::path> {
 protected:
  static WeightsOptions options(const std::string& config) {
    WeightsOptions options;
    options.layer = line_of(GetParam() / "layer.txt");
    options.config = GetParam() / config;
    return options;
  }
  static LayerWeights load(const std::string& config) {
    return load_weights(GetParam() / "model.safetensors", options(config));
  }
  static weights::NpyArray array(const char* name) {
    return weights::read_npy(weights::FileBytes(GetParam() / name));
  }
};

TEST_P(FamilyLayers, AreComputedOrRefused) {
  const std::string reason = line_of(GetParam() / "refused.txt");
  const weights::NpyArray x = array("x.npy"), expected = array("expected.npy");
  for (const std::string config : {"config.json", "published.json"}) {
    SCOPED_TRACE(config);
    if (!fs::exists(GetParam() / config)) continue;
    if (!reason.empty()) {
      try {
        load(config);
        ADD_FAILURE() << "computed, and not refused";
      } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
      }
      continue;
    }
    const LayerWeights loaded = load(config);
    EXPECT_TRUE(loaded.notes.empty()) << loaded.notes.front();
    Layer layer{{loaded.config, {}, {}}, to_split(loaded.weights), {}};
    layer.shape.batch = 1;
    layer.shape.tokens = x.dims.at(x.dims.size() - 2);
    layer.x = Matrix(layer.shape.tokens, x.dims.back());
    std::copy(x.values.begin(), x.values.end(), layer.x.values.begin());
    const std::vector<double> y = oracle(layer).y;
    ASSERT_EQ(y.size(), expected.values.size());
    const std::vector<double> wanted(expected.values.begin(), expected.values.end());
    EXPECT_LE(nrmse(wanted, y), kMost) << layer.shape.id();
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyLayers, testing::ValuesIn(folders()),
                         [](const auto& param) { return param.param.filename().string(); });

}  // namespace
}  // namespace headroom::test::family_layers_test
