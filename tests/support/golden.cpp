#include "support/golden.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/json_matrix.hpp"

namespace headroom::test {
namespace {

using Json = nlohmann::json;

const Json& example_json(const std::string& name) {
  static const Json file = read_data("attention_examples.json");
  return file.at("cases").at(name);
}

std::vector<float> optional_bias(const Json& example, const std::string& name) {
  return optional_matrix(example, name).values;
}

// Batch, tokens and widths of the input, which may lack the batch dimension.
Case input_shape(const Json& x) {
  const auto sizes = x.at("shape").get<std::vector<std::int64_t>>();
  Case shape;
  shape.batch = sizes.size() == 3 ? sizes[0] : 1;
  shape.tokens = sizes[sizes.size() - 2];
  shape.d_in = sizes.back();
  return shape;
}

GoldenLayer start(const std::string& name, bool causal, std::int64_t heads) {
  const Json& example = example_json(name);
  GoldenLayer layer;
  layer.name = name;
  layer.shape = input_shape(example.at("x"));
  layer.shape.causal = causal;
  layer.shape.heads = heads;
  layer.x = to_matrix(example.at("x"));
  return layer;
}

GoldenLayer split_layer(const std::string& name, std::int64_t heads, bool causal,
                        const std::string& result) {
  const Json& example = example_json(name);
  GoldenLayer layer = start(name, causal, heads);
  SplitWeights& w = layer.weights;
  w.query = to_matrix(example.at("w_query"));
  w.key = to_matrix(example.at("w_key"));
  w.value = to_matrix(example.at("w_value"));
  w.query_bias = optional_bias(example, "b_query");
  w.key_bias = optional_bias(example, "b_key");
  w.value_bias = optional_bias(example, "b_value");
  layer.shape.d_out = w.query.cols;
  layer.shape.qkv_bias = !w.query_bias.empty();
  if (result == "y" && example.contains("w_out")) {
    w.output = to_matrix(example.at("w_out"));
    w.output_bias = optional_bias(example, "b_out");
    layer.shape.d_proj = w.output.cols;
  } else if (example.contains("w_out")) {
    layer.name += "_unprojected";
  }
  layer.y = to_matrix(example.at(result));
  return layer;
}

GoldenLayer wrapper_layer(const std::string& name) {
  const Json& example = example_json(name);
  PerHeadWeights weights;
  for (const Json& json : example.at("heads")) {
    HeadWeights head;
    head.query = to_matrix(json.at("w_query"));
    head.key = to_matrix(json.at("w_key"));
    head.value = to_matrix(json.at("w_value"));
    weights.heads.push_back(head);
  }
  const auto heads = static_cast<std::int64_t>(weights.heads.size());
  GoldenLayer layer = start(name, true, heads);
  layer.shape.d_out = heads * weights.heads[0].query.cols;
  layer.weights = to_split(layer.shape, weights);
  layer.y = to_matrix(example.at("y"));
  return layer;
}

// `d_in x d_out`, `scale` where column c takes input `first + c`.
Matrix selection(const Case& shape, std::int64_t first, float scale) {
  Matrix matrix(shape.d_in, shape.d_out);
  for (std::int64_t c = 0; c < shape.d_out; ++c) matrix.view().row(first + c)[c] = scale;
  return matrix;
}

// Unscaled attention of x with itself: unit weights, and a query that undoes the scale.
GoldenLayer simplified_layer() {
  GoldenLayer layer = start("simplified_attention", false, 1);
  layer.shape.d_out = layer.shape.d_in;
  layer.weights.query = selection(layer.shape, 0, std::sqrt(static_cast<float>(layer.shape.d_in)));
  layer.weights.key = selection(layer.shape, 0, 1);
  layer.weights.value = selection(layer.shape, 0, 1);
  layer.y = golden_matrix(layer.name, "context");
  return layer;
}

// Given Q, K and V: they stand side by side in x, and each weight matrix selects one of them.
GoldenLayer heads_by_hand_layer() {
  GoldenLayer layer;
  layer.name = "heads_by_hand";
  const Json& example = example_json(layer.name);
  const auto sizes = example.at("q").at("shape").get<std::vector<std::int64_t>>();
  const std::int64_t head_dim = sizes[3];
  layer.shape.heads = sizes[1];
  layer.shape.tokens = sizes[2];
  layer.shape.d_out = layer.shape.heads * head_dim;
  layer.shape.d_in = 3 * layer.shape.d_out;
  layer.x = Matrix(layer.shape.tokens, layer.shape.d_in);
  std::int64_t column = 0;
  for (const char* name : {"q", "k", "v"}) {
    const Matrix heads = to_matrix(example.at(name));  // H * T rows of head_dim
    for (std::int64_t r = 0; r < heads.rows; ++r) {
      const std::int64_t head = r / layer.shape.tokens;
      float* to = layer.x.view().row(r % layer.shape.tokens) + column + head * head_dim;
      std::copy_n(heads.view().row(r), head_dim, to);
    }
    column += layer.shape.d_out;
  }
  layer.weights.query = selection(layer.shape, 0, 1);
  layer.weights.key = selection(layer.shape, layer.shape.d_out, 1);
  layer.weights.value = selection(layer.shape, 2 * layer.shape.d_out, 1);
  layer.y = to_matrix(example.at("y"));
  return layer;
}

}  // namespace

Matrix golden_matrix(const std::string& example, const std::string& path) {
  return to_matrix(example_json(example).at(Json::json_pointer("/" + path)));
}

std::vector<GoldenLayer> golden_layers() {
  std::vector<GoldenLayer> layers;
  layers.push_back(simplified_layer());
  layers.push_back(split_layer("self_attention_v1", 1, false, "context"));
  layers.push_back(split_layer("self_attention_v2", 1, false, "context"));
  layers.push_back(split_layer("causal_masking", 1, true, "context"));
  layers.push_back(split_layer("causal_attention", 1, true, "context"));
  layers.push_back(wrapper_layer("wrapper_journey"));
  layers.push_back(wrapper_layer("wrapper_dream"));
  for (const char* result : {"y", "context"}) {
    layers.push_back(split_layer("split_journey", 2, true, result));
    layers.push_back(split_layer("split_six_bias", 2, true, result));
    layers.push_back(split_layer("split_six_bias_unmasked", 2, false, result));
  }
  layers.push_back(split_layer("stepwise_the_kid_smiles", 2, true, "y"));
  layers.push_back(heads_by_hand_layer());
  return layers;
}

}  // namespace headroom::test
