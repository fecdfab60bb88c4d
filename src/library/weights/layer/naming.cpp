#include "weights/layer/naming.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom::weights {
namespace {

constexpr std::size_t kMostCandidates = 12;

// Names for a message: the first of them.
std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMostCandidates) break;
    shown.push_back(shown_name(name));
  }
  const std::size_t more = names.size() - shown.size();
  return more == 0 ? fmt::format("{}", fmt::join(shown, ", "))
                   : fmt::format("{} and {} more", fmt::join(shown, ", "), more);
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

Naming named(const WeightsOptions& options) {
  Naming naming;
  LayerNames& names = naming.names;
  const std::map<std::string, std::string*> roles{{"query", &names.query},
                                                  {"key", &names.key},
                                                  {"value", &names.value},
                                                  {"qkv", &names.qkv},
                                                  {"output", &names.output},
                                                  {"query_bias", &names.query_bias},
                                                  {"key_bias", &names.key_bias},
                                                  {"value_bias", &names.value_bias},
                                                  {"qkv_bias", &names.qkv_bias},
                                                  {"output_bias", &names.output_bias},
                                                  {"query_norm", &names.query_norm},
                                                  {"key_norm", &names.key_norm},
                                                  {"sinks", &names.sinks}};
  for (const auto& [role, name] : options.tensors) {
    const auto place = roles.find(role);
    if (place == roles.end()) {
      std::vector<std::string> known;
      for (const auto& [each, _] : roles) known.push_back(each);
      throw InvalidArgument(
          fmt::format("--tensor: unknown part '{}'; {}", role, suggest(role, known)));
    }
    *place->second = name;
  }
  const bool separate = !names.query.empty() && !names.key.empty() && !names.value.empty();
  const bool any = !names.query.empty() || !names.key.empty() || !names.value.empty();
  if (names.qkv.empty() ? !separate : any) {
    throw InvalidArgument(
        "--tensor: name either query, key and value, or qkv; and output, where there is one");
  }
  if (names.output.empty() && !names.output_bias.empty()) {
    throw InvalidArgument("--tensor: output_bias needs output; name both");
  }
  naming.stored = options.stored.value_or(Stored::out_in);
  return naming;
}

void add_biases(const TensorSet& set, const Layout& layout, LayerNames& names) {
  for (const auto& [matrix, bias] :
       {std::pair(&names.query, &names.query_bias), std::pair(&names.key, &names.key_bias),
        std::pair(&names.value, &names.value_bias), std::pair(&names.qkv, &names.qkv_bias),
        std::pair(&names.output, &names.output_bias)}) {
    if (matrix->empty()) continue;
    const std::string name = bias_of(*matrix);
    if (layout.biases == Biases::required || set.has(name)) *bias = name;
  }
}

std::string layer_list(const std::vector<FoundLayer>& layers) {
  std::vector<std::string> names;
  for (const FoundLayer& layer : layers) names.push_back(layer.name());
  return some_of(names);
}

// The layer that is wanted, or the first one.
const FoundLayer& choose_layer(const std::vector<FoundLayer>& layers, const std::string& wanted) {
  for (const FoundLayer& layer : layers) {
    if (!wanted.empty() && layer.name() == wanted) return layer;
  }
  std::optional<std::int64_t> number = layers.front().number;
  for (const FoundLayer& layer : layers) {
    if (layer.number && (!number || *layer.number < *number)) number = layer.number;
  }
  if (!wanted.empty()) number = number_of(wanted);
  std::vector<const FoundLayer*> matches;
  for (const FoundLayer& layer : layers) {
    if (layer.number == number) matches.push_back(&layer);
  }
  // A layer alone in its file need not have a number.
  const bool alone = layers.size() == 1 && !layers.front().number;
  if (alone && (wanted.empty() || wanted == "0")) return layers.front();
  if (matches.size() == 1) return *matches.front();
  throw InvalidArgument(fmt::format(
      "--layer: {} {}; the file has {}; give one of their numbers or names",
      wanted.empty() ? fmt::format("{}", number.value_or(0)) : "'" + shown_name(wanted) + "'",
      matches.empty() ? "is not there" : "fits more than one layer", layer_list(layers)));
}

Naming recognised(const TensorSet& set, const WeightsOptions& options) {
  const std::vector<FoundLayer> layers = find_layers(set.names());
  if (layers.empty()) {
    throw FileError(fmt::format(
        "{}: no tensor has a name of a known layout; the names begin with {}; name the layer's "
        "tensors with --tensor",
        shown_path(set.path()), some_of(set.names())));
  }
  Naming naming;
  naming.found = choose_layer(layers, options.layer);
  const FoundLayer& layer = *naming.found;
  if (!layer.missing.empty()) fail_missing(set, layer.missing.front());
  const Layout& layout = *layer.layout;
  const auto full = [&](std::string_view word) {
    return word.empty() ? std::string() : layer.prefix + std::string(word);
  };
  naming.names.query = full(layout.query);
  naming.names.key = full(layout.key);
  naming.names.value = full(layout.value);
  naming.names.qkv = full(layout.qkv);
  naming.names.output = full(layout.output);
  add_biases(set, layout, naming.names);
  naming.stored = options.stored.value_or(layout.stored);
  return naming;
}

}  // namespace

namespace {

// All layers of a stack have the values of its first one. Layers over a second input have none.
std::string buckets_of(const TensorSet& set, const FoundLayer& layer) {
  constexpr std::string_view kBlock = "block.";
  std::string first = layer.prefix;
  const std::size_t place = first.find(kBlock);
  if (place != std::string::npos) {
    const std::size_t number = place + kBlock.size();
    first.replace(number, first.find('.', number) - number, 1, '0');
  }
  std::string name = first + std::string(kBuckets);
  if (set.has(name)) return name;
  if (first.ends_with("EncDecAttention.")) return {};
  throw FileError(
      fmt::format("{}: the layer adds '{}', which all layers of its stack share, and the file does "
                  "not have it; give the files of the whole model",
                  shown_path(set.path()), shown_name(name)));
}

}  // namespace

void name_parameters(const TensorSet& set, const std::optional<ModelConfig>& config,
                     Naming& naming) {
  if (!naming.found) return;
  const FoundLayer& layer = *naming.found;
  if (config && config->rules.norm.over != QueryKeyNorm::Over::none &&
      config->rules.norm.weighted) {
    // HunYuan's, which come after rotary positions, have names of their own.
    const bool late = config->rules.norm.after_rotary;
    naming.names.query_norm =
        layer.prefix + std::string(late ? "query_layernorm.weight" : layer.layout->query_norm);
    naming.names.key_norm =
        layer.prefix + std::string(late ? "key_layernorm.weight" : layer.layout->key_norm);
  }
  if (config && config->rules.position_bias.kind == PositionBias::Kind::buckets) {
    naming.names.position_bias = buckets_of(set, layer);
  }
  if (config && config->rules.sinks) {
    naming.names.sinks = layer.prefix + std::string(layer.layout->sinks);
  }
  const std::vector<std::string> foreign = foreign_tensors(layer, set.names(), naming.names);
  if (foreign.empty()) return;
  throw Unsupported(
      fmt::format("{}: the layer has {}, which headroom does not compute{}; to run it without, "
                  "name its tensors with --tensor",
                  shown_path(set.path()), some_of(foreign),
                  config ? "" : " without a config.json that says how"));
}

void fail_missing(const TensorSet& set, const std::string& name) {
  const std::string start = name.substr(0, name.rfind('.') + 1);
  std::vector<std::string> near;
  for (const std::string& other : set.names()) {
    if (other.starts_with(start.substr(0, start.find_last_of('.', start.size() - 2) + 1))) {
      near.push_back(other);
    }
  }
  throw FileError(fmt::format(
      "{}: there is no tensor '{}', which the layer needs; candidates: {}; name it with --tensor",
      shown_path(set.path()), shown_name(name), some_of(near.empty() ? set.names() : near)));
}

Naming name_tensors(const TensorSet& set, const WeightsOptions& options) {
  if (options.tensors.empty()) return recognised(set, options);
  if (!options.layer.empty()) {
    throw InvalidArgument("--layer: the tensors are named with --tensor; leave one of them out");
  }
  return named(options);
}

}  // namespace headroom::weights
