#include "show/weights_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/numbers.hpp"
#include "weights/layer/layouts.hpp"
#include "weights/layer/stored_layer.hpp"

namespace headroom::show {
namespace {

using nlohmann::ordered_json;
using weights::FoundLayer;

std::string layer_words(const FoundLayer& layer) {
  std::string text = fmt::format("  {:<10} {}", layer.layout->name,
                                 layer.prefix.empty() ? "(names without a part in common)"
                                                      : weights::shown_name(layer.name()));
  for (const std::string& name : layer.missing) {
    text += fmt::format("{} {}", name == layer.missing.front() ? "; missing:" : ",",
                        weights::shown_name(name));
  }
  return text + "\n";
}

// The first layer as far as it is known without the user's help.
std::string first_layer_words(weights::TensorSet& set) {
  std::string text;
  try {
    const weights::StoredLayer layer = weights::find_stored_layer(set, {});
    const LayerConfig& config = layer.config;
    text = fmt::format(
        "{} to {} heads of {}{}{}, {}, {}", config.d_in, config.heads, config.head_dim(),
        config.kv_heads > 0 ? fmt::format(" with {} key heads", config.kv_heads) : "",
        config.d_proj > 0 ? fmt::format(" to {}", config.d_proj) : "",
        config.qkv_bias ? "with biases" : "without biases",
        config.causal ? "causal" : "not causal");
    for (const std::string& note : layer.notes) text += "\n  " + note;
  } catch (const InvalidArgument& error) {
    text = error.what();
  } catch (const Unsupported& error) {
    text = error.what();
  }
  return text;
}

}  // namespace

std::string weights_list(weights::TensorSet& set) {
  const std::vector<FoundLayer> layers = weights::find_layers(set.names());
  std::string text = fmt::format("{}: {}, {}\n", shown_path(set.path()), set.kind(),
                                 counted(set.names().size(), "tensor"));
  if (layers.empty()) {
    text += "no attention layer is recognised; known are " + weights::layout_words() + "\n";
  } else {
    text += counted(layers.size(), "attention layer") + ":\n";
    for (const FoundLayer& layer : layers) text += layer_words(layer);
    if (layers.front().missing.empty()) {
      text += fmt::format("the first one: {}\n", first_layer_words(set));
    }
  }
  std::size_t width = 0;
  for (const std::string& name : set.names()) {
    width = std::max(width, weights::shown_name(name).size());
  }
  text += "tensors:\n";
  for (const std::string& name : set.names()) {
    const weights::Tensor tensor = set.find(name).tensor;
    text += fmt::format("  {:<{}}  {:<5} {}\n", weights::shown_name(name), width, tensor.dtype,
                        weights::shown_dims(tensor.dims));
  }
  return text;
}

ordered_json weights_json(weights::TensorSet& set) {
  ordered_json layers = ordered_json::array();
  for (const FoundLayer& layer : weights::find_layers(set.names())) {
    layers.push_back(
        {{"layout", layer.layout->name},
         {"layer", layer.name()},
         {"number", layer.number ? ordered_json(*layer.number) : ordered_json(nullptr)},
         {"missing", layer.missing}});
  }
  ordered_json tensors = ordered_json::array();
  for (const std::string& name : set.names()) {
    const weights::Tensor tensor = set.find(name).tensor;
    tensors.push_back({{"name", name}, {"dtype", tensor.dtype}, {"shape", tensor.dims}});
  }
  return {{"schema", "headroom.weights/1"},
          {"file", set.path().string()},
          {"kind", set.kind()},
          {"layers", layers},
          {"tensors", tensors}};
}

}  // namespace headroom::show
