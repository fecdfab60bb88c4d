#include "support/torch_calls.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "support/json_matrix.hpp"

namespace headroom::test {
namespace {

using Json = nlohmann::json;

Rotary to_rotary(const Json& json) {
  if (json.is_null()) return {};
  const bool halves = json.at("pairs") == "halves";
  return {halves ? Rotary::Pairs::halves : Rotary::Pairs::neighbours, json.at("base").get<double>(),
          json.at("scale").get<double>()};
}

Case to_shape(const Json& json) {
  Case shape;
  json.at("batch").get_to(shape.batch);
  json.at("tokens").get_to(shape.tokens);
  json.at("d_in").get_to(shape.d_in);
  json.at("d_out").get_to(shape.d_out);
  json.at("heads").get_to(shape.heads);
  json.at("causal").get_to(shape.causal);
  json.at("qkv_bias").get_to(shape.qkv_bias);
  json.at("d_proj").get_to(shape.d_proj);
  json.at("kv_heads").get_to(shape.kv_heads);
  json.at("window").get_to(shape.window);
  shape.rotary = to_rotary(json.at("rotary"));
  json.at("d_memory").get_to(shape.d_memory);
  json.at("past").get_to(shape.past);
  json.at("memory_tokens").get_to(shape.memory_tokens);
  json.at("lengths").get_to(shape.lengths);
  return shape;
}

SplitWeights to_weights(const Json& example) {
  SplitWeights weights;
  weights.query = to_matrix(example.at("w_query"));
  weights.key = to_matrix(example.at("w_key"));
  weights.value = to_matrix(example.at("w_value"));
  weights.output = optional_matrix(example, "w_out");
  weights.query_bias = optional_matrix(example, "b_query").values;
  weights.key_bias = optional_matrix(example, "b_key").values;
  weights.value_bias = optional_matrix(example, "b_value").values;
  weights.output_bias = optional_matrix(example, "b_out").values;
  return weights;
}

}  // namespace

std::vector<TorchCall> torch_calls() {
  const Json file = read_data("attention_calls.json");
  std::vector<TorchCall> calls;
  for (const auto& [name, example] : file.at("cases").items()) {
    const Layer layer{to_shape(example.at("layer")), to_weights(example),
                      to_matrix(example.at("x")), optional_matrix(example, "past"),
                      optional_matrix(example, "memory")};
    calls.push_back({name, layer, to_matrix(example.at("y")),
                     example.at("y_float64").at("data").get<std::vector<double>>()});
  }
  return calls;
}

}  // namespace headroom::test
