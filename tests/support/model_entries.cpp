#include "support/model_entries.hpp"

#include <cmath>
#include <cstring>

#include "weights/tensor_set.hpp"

namespace headroom::test {
namespace {

std::filesystem::path file_of(const nlohmann::json& entry) {
  return models_folder() / entry.at("folder").get<std::string>() /
         entry.at("file").get<std::string>();
}

}  // namespace

std::filesystem::path models_folder() {
  return std::filesystem::path(HEADROOM_TEST_DATA) / "models";
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

Layer with_input(const LayerWeights& loaded, const nlohmann::json& entry) {
  Layer layer{{loaded.config, {}, {}}, to_split(loaded.weights), {}};
  std::vector<std::int64_t> dims;
  const std::vector<double> x = read_doubles(file_of(entry), "x", dims);
  layer.shape.tokens = dims.at(dims.size() - 2);
  layer.shape.batch = 1;
  layer.x = Matrix(layer.shape.tokens, dims.back());
  for (std::size_t i = 0; i < x.size(); ++i) layer.x.values[i] = static_cast<float>(x[i]);
  return layer;
}

std::vector<double> expected_of(const nlohmann::json& entry) {
  std::vector<std::int64_t> dims;
  return read_doubles(file_of(entry), "expected", dims);
}

}  // namespace headroom::test
