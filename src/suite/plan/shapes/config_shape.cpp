#include "plan/shapes/config_shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/numbers.hpp"
#include "weights/layer/config/read_config.hpp"

namespace headroom::plan {
namespace {

std::int64_t required(const std::optional<std::int64_t>& value, const char* what,
                      const std::string& path) {
  if (value) return *value;
  throw InvalidArgument(fmt::format("--config: {} does not say {}; give a model's own config.json",
                                    shown_path(path), what));
}

// A number, or what the names of its tensors share with one at the end.
weights::ConfigLayer layer_of(const std::string& layer, const std::string& family) {
  const std::size_t dot = layer.rfind('.');
  const std::string number = dot == std::string::npos ? layer : layer.substr(dot + 1);
  weights::ConfigLayer found{.family = family};
  found.number = layer.empty() ? 0 : parse_number("--layer", number, 0);
  if (dot != std::string::npos) found.name = layer.substr(0, dot);
  return found;
}

// Of a model with an encoder and a decoder.
bool causal_of(const weights::ModelConfig& config, const std::string& layer) {
  if (config.causal) return *config.causal;
  const bool decodes = layer.find("decoder") != std::string::npos;
  if (decodes == (layer.find("encoder") != std::string::npos)) {
    throw InvalidArgument(fmt::format(
        "--layer: {} has an encoder and a decoder; give encoder.N or decoder.N with the layer's "
        "number",
        shown_path(config.path)));
  }
  return decodes;
}

}  // namespace

ShapeSeed config_shape(const std::string& path, const std::string& layer,
                       const std::string& family) {
  const weights::ModelConfig config = weights::read_config_file(path, layer_of(layer, family));
  if (!config.foreign.empty()) {
    throw Unsupported(fmt::format("{}: {}, which headroom does not compute", shown_path(path),
                                  fmt::join(config.foreign, ", ")));
  }
  if (!config.known) {
    throw Unsupported(fmt::format(
        "{}: '{}' is not a family that headroom knows; give one that computes the same with "
        "--family, or measure a layer of its sizes with --heads, --head-dim and so on",
        shown_path(path), shown_text(config.family)));
  }
  ShapeSeed seed;
  seed.d_model = required(config.width, "how wide the model is", path);
  seed.heads = required(config.heads, "how many heads a layer has", path);
  seed.head_dim = config.head_dim.value_or(seed.d_model / seed.heads);
  seed.kv_heads = config.kv_heads.value_or(0);
  seed.tokens = {kDefaultTokens};
  LayerConfig& rules = seed.rules;
  rules = config.rules;
  rules.causal = causal_of(config, layer);
  rules.window = config.window.value_or(0);
  if (!config.turns) rules.rotary = {};
  // As nearly all checkpoints for transformers have it.
  if (config.turns && rules.rotary.pairs == Rotary::Pairs::none) {
    rules.rotary.pairs = Rotary::Pairs::halves;
  }
  return seed;
}

}  // namespace headroom::plan
