#include "weights/layer/layer_shape_rules.hpp"

#include <fmt/format.h>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"

namespace headroom::weights {
namespace {

using Pairs = Rotary::Pairs;

// What the user gave and what the file says, which must not differ.
std::int64_t agreed(const char* option, std::int64_t given, std::optional<std::int64_t> known,
                    const std::filesystem::path& where) {
  if (given == 0) return known.value_or(0);
  if (known && *known != given) {
    throw InvalidArgument(
        fmt::format("{}: {} was given, but {} says {}; leave the option out or "
                    "correct the file",
                    option, given, shown_path(where), *known));
  }
  return given;
}

struct Heads {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
};

[[noreturn]] void fail_without_heads(const std::optional<ModelConfig>& config) {
  throw InvalidArgument(
      fmt::format("--heads: no file says how many heads the layer has: {}; give --heads N",
                  config ? fmt::format("{} does not", shown_path(config->path))
                         : "there is no config.json beside the weights"));
}

[[noreturn]] void fail_width(const std::string& found) {
  throw InvalidArgument(
      fmt::format("{}; check --heads, --kv-heads and --head-dim, or config.json", found));
}

Heads known_heads(const WeightsOptions& options, const std::optional<ModelConfig>& config) {
  if (!config) return {options.heads, options.kv_heads, options.head_dim};
  return {agreed("--heads", options.heads, config->heads, config->path),
          agreed("--kv-heads", options.kv_heads, config->kv_heads, config->path),
          agreed("--head-dim", options.head_dim, config->head_dim, config->path)};
}

// No product of what is left can overflow.
void require_within(const Heads& known, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const std::int64_t value : {known.heads, known.kv_heads, known.head_dim}) {
    if (value < 0 || value > width || value > kMost) {
      fail_width(
          fmt::format("{} is more than a layer can have whose query, key and value are {} "
                      "wide together",
                      value, width));
    }
  }
}

// The query's width of a fused tensor whose layer has no output projection.
std::int64_t query_width(const Widths& widths, const Heads& known) {
  if (widths.heads_width > 0) return widths.heads_width;
  if (known.heads > 0 && known.head_dim > 0) return known.heads * known.head_dim;
  if (known.heads > 0 && known.kv_heads > 0) {
    return widths.qkv_width / (known.heads + 2 * known.kv_heads) * known.heads;
  }
  return widths.qkv_width / 3;
}

Heads heads_of(const Widths& widths, std::int64_t d_out, Heads known,
               const std::optional<ModelConfig>& config) {
  if (known.heads == 0 && known.head_dim == 0) fail_without_heads(config);
  if (known.heads == 0) known.heads = d_out / known.head_dim;
  if (known.head_dim == 0 && known.heads > 0) known.head_dim = d_out / known.heads;
  if (known.heads < 1 || known.head_dim < 1 || known.heads * known.head_dim != d_out) {
    fail_width(fmt::format("{} heads of {} are not the query's width {}", known.heads,
                           known.head_dim, d_out));
  }
  const std::int64_t kv_width = (widths.qkv_width - d_out) / 2;
  if (kv_width < 1 || widths.qkv_width != d_out + 2 * kv_width || kv_width % known.head_dim != 0) {
    fail_width(fmt::format("keys and values of {} columns together are not two times heads of {}",
                           widths.qkv_width - d_out, known.head_dim));
  }
  const std::int64_t kv_heads = kv_width / known.head_dim;
  if (known.kv_heads > 0 && known.kv_heads != kv_heads) {
    fail_width(fmt::format("{} key heads of {} are not the keys' width {}", known.kv_heads,
                           known.head_dim, kv_width));
  }
  known.kv_heads = kv_heads;
  return known;
}

bool masked_by_family(const FoundLayer* layer) {
  if (layer == nullptr) return true;
  switch (layer->layout->mask) {
    case Mask::causal:
      return true;
    case Mask::none:
      return false;
    case Mask::of_decoders:
      return layer->prefix.find("encoder") == std::string::npos;
  }
  return true;
}

std::string family_words(const ModelConfig& config) {
  return config.family.empty()
             ? shown_path(config.path)
             : fmt::format("{} of {}", shown_text(config.family), shown_path(config.path));
}

// A user may ask for another rule than the model's, and then hears of it.
template <class Value, class Words>
Value preferred(const std::optional<Value>& given, const std::optional<Value>& known,
                const Words& words, const std::optional<ModelConfig>& config,
                std::vector<std::string>& notes) {
  if (given && known && *given != *known) {
    notes.push_back(fmt::format("{} as asked; the model ({}) is {}", words(*given),
                                family_words(*config), words(*known)));
  }
  return given ? *given : known.value_or(Value{});
}

bool causal_of(const WeightsOptions& options, const std::optional<ModelConfig>& config,
               const FoundLayer* layer, std::vector<std::string>& notes) {
  const auto words = [](bool causal) { return causal ? "causal" : "not causal"; };
  const auto known = config ? config->causal : std::nullopt;
  if (options.causal || known) return preferred(options.causal, known, words, config, notes);
  const bool causal = masked_by_family(layer);
  if (config && config->stacks && layer != nullptr) return causal;
  notes.push_back(
      fmt::format("{}: assumed, because no config.json of a known model says so; {} "
                  "changes it",
                  words(causal), causal ? "--no-causal" : "--causal"));
  return causal;
}

// Whoever names the pairs alone means the model's own base and scale.
std::optional<Rotary> asked_rotary(const WeightsOptions& options,
                                   const std::optional<ModelConfig>& config) {
  if (!options.rotary || !config || !config->turns) return options.rotary;
  if (*options.rotary != Rotary{options.rotary->pairs} || options.rotary->pairs == Pairs::none) {
    return options.rotary;
  }
  Rotary rotary = config->rules.rotary;
  rotary.pairs = options.rotary->pairs;
  return rotary;
}

Rotary rotary_of(const WeightsOptions& options, const std::optional<ModelConfig>& config,
                 const FoundLayer* layer, std::vector<std::string>& notes) {
  Pairs custom = layer != nullptr ? layer->layout->pairs : Pairs::none;
  if (config && config->rules.rotary.pairs != Pairs::none) custom = config->rules.rotary.pairs;
  std::optional<Rotary> known;
  if (config && config->turns && custom != Pairs::none) {
    known = config->rules.rotary;
    known->pairs = custom;
  }
  if (!options.rotary && !config && custom != Pairs::none) {
    notes.emplace_back(
        "no rotary positions: assumed, because there is no config.json; --rotary changes it");
  }
  if (!options.rotary && config && config->turns && custom == Pairs::none) {
    notes.push_back(
        fmt::format("no rotary positions, although {} has them: the names do not say "
                    "which values make a pair; give --rotary",
                    family_words(*config)));
  }
  const auto words = [](const Rotary& rotary) {
    return rotary.pairs == Pairs::none ? std::string("without rotary positions")
                                       : fmt::format("turned by rotary positions ({}, base {})",
                                                     to_string(rotary.pairs), rotary.base);
  };
  return preferred(asked_rotary(options, config), known, words, config, notes);
}

std::int64_t window_of(const WeightsOptions& options, const std::optional<ModelConfig>& config,
                       std::vector<std::string>& notes) {
  const auto words = [](std::int64_t window) { return fmt::format("a window of {}", window); };
  const auto known = config ? config->window : std::nullopt;
  return preferred(options.window, known, words, config, notes);
}

}  // namespace

LayerConfig config_of_layer(const Widths& widths, const WeightsOptions& options,
                            const std::optional<ModelConfig>& config, const FoundLayer* layer,
                            std::vector<std::string>& notes) {
  const Heads known = known_heads(options, config);
  require_within(known, widths.qkv_width);
  LayerConfig made = config ? config->rules : LayerConfig{};
  made.qkv_bias = made.sinks = made.gate = false;  // until tensors of them are found
  made.d_in = widths.d_in;
  made.d_out = query_width(widths, known);
  const Heads heads = heads_of(widths, made.d_out, known, config);
  made.heads = heads.heads;
  made.kv_heads = heads.kv_heads == heads.heads ? 0 : heads.kv_heads;
  made.d_proj = widths.d_proj;
  made.causal = causal_of(options, config, layer, notes);
  made.window = window_of(options, config, notes);
  made.rotary = rotary_of(options, config, layer, notes);
  if (!made.causal || made.window > 0) made.chunk = 0;
  made.validate();
  return made;
}

}  // namespace headroom::weights
