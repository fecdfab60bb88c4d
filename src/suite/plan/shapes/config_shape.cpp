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

}  // namespace

ShapeSeed config_shape(const std::string& path, const std::string& layer) {
  const std::int64_t number = layer.empty() ? 0 : parse_number("--layer", layer, 0);
  const weights::ModelConfig config = weights::read_config_file(path, number);
  if (!config.foreign.empty()) {
    throw Unsupported(fmt::format("{}: {}, which headroom does not compute", shown_path(path),
                                  fmt::join(config.foreign, ", ")));
  }
  if (!config.causal) {
    throw Unsupported(fmt::format(
        "{}: '{}' is not a family that headroom knows; measure a layer of its sizes with --heads, "
        "--head-dim and so on",
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
  rules.causal = *config.causal;
  rules.window = config.window.value_or(0);
  if (!config.turns) rules.rotary = {};
  // As nearly all checkpoints for transformers have it.
  if (config.turns && rules.rotary.pairs == Rotary::Pairs::none) {
    rules.rotary.pairs = Rotary::Pairs::halves;
  }
  return seed;
}

}  // namespace headroom::plan
