// Models that real packages wrote, through every backend, against what PyTorch computed for them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/load_weights.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"
#include "weights/npy.hpp"

namespace headroom::test::torch_layouts_test {
namespace {

const std::filesystem::path kModels = std::filesystem::path(HEADROOM_TEST_DATA) / "weights";

/// A model of tests/data/weights/make.py, and where its input and output are.
struct Model {
  std::string name, call, layer;
  std::int64_t heads;  ///< where no config says it
  std::string layout, shape;
};

const std::vector<Model>& models() {
  static const std::vector<Model> all{
      {"gpt2", "gpt2", "1", 0, "gpt2", "B2_T7_D24_H3_bias"},
      {"llama", "llama", "", 0, "llama", "B1_T11_D24_H6_in20_proj20_K2_rope500000"},
      {"bert", "bert_call", "", 4, "bert", "B1_T9_D16_H4_nomask_bias"},
      {"torch", "torch", "", 3, "torch", "B3_T5_D18_H3_nomask_bias"}};
  return all;
}

Layer layer_of(const Model& model, LayerWeights& loaded) {
  WeightsOptions options;
  options.layer = model.layer;
  options.heads = model.heads;
  loaded = load_weights(kModels / model.name, options);
  weights::NpyArray x = weights::read_npy(kModels / model.call / "x.npy");
  Layer layer{{loaded.config, {}, {}}, to_split(loaded.weights), {}};
  layer.shape.batch = x.dims.size() == 3 ? x.dims[0] : 1;
  layer.shape.tokens = x.dims[x.dims.size() - 2];
  layer.x.rows = layer.shape.rows();
  layer.x.cols = x.dims.back();
  layer.x.values = std::move(x.values);
  return layer;
}

TEST(TorchModels, AreRecognised) {
  for (const Model& model : models()) {
    LayerWeights loaded;
    EXPECT_EQ(layer_of(model, loaded).shape.id(), model.shape);
    EXPECT_EQ(loaded.layout, model.layout);
    EXPECT_TRUE(loaded.warnings.empty()) << model.name;
  }
}

class TorchLayouts : public LayerTest {};

TEST_P(TorchLayouts, GiveWhatPyTorchGives) {
  for (const Model& model : models()) {
    LayerWeights loaded;
    const Layer layer = layer_of(model, loaded);
    const Matrix y = run(GetParam(), layer);
    reference::Expected expected = oracle(layer);
    const std::vector<float> torch = weights::read_npy(kModels / model.call / "y.npy").values;
    ASSERT_EQ(expected.y.size(), torch.size());
    expected.y.assign(torch.begin(), torch.end());  // with the bound of the oracle
    for (const auto data : {reference::Data::standard, reference::Data::adversarial}) {
      const reference::Comparison found = reference::compare(expected, y.view(), data);
      EXPECT_TRUE(found.passed) << model.name << ": " << found.reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, TorchLayouts, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::torch_layouts_test
