#include "plan/user_weights.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "core/nearest.hpp"
#include "core/shape_json.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

// An axis that is a list elsewhere: the file's layer has one size.
std::int64_t one_number(const char* option, const std::optional<std::string>& text) {
  if (!text) return 0;
  const std::vector<std::int64_t> numbers = parse_numbers(option, *text);
  if (numbers.size() != 1) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' are {} values, but the layer of --weights has one; leave the option out", option,
        *text, numbers.size()));
  }
  return numbers.front();
}

std::optional<Stored> parse_stored(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (*text == "out-in") return Stored::out_in;
  if (*text == "in-out") return Stored::in_out;
  throw InvalidArgument(
      fmt::format("--stored: unknown order '{}'; {}", *text, suggest(*text, {"out-in", "in-out"})));
}

std::optional<Rotary> parse_rotary(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<Rotary::Pairs> pairs = parse_pairs(*text);
  if (!pairs) {
    throw InvalidArgument(fmt::format("--rotary: unknown pairs '{}'; {}", *text,
                                      suggest(*text, {"none", "halves", "neighbours"})));
  }
  return Rotary{*pairs};
}

void add_tensor(const std::string& text, WeightsOptions& options) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw InvalidArgument(
        fmt::format("--tensor: '{}' is not PART=NAME, such as query=layer.0.wq", text));
  }
  const std::string part = text.substr(0, equals);
  if (!options.tensors.try_emplace(part, text.substr(equals + 1)).second) {
    throw InvalidArgument(fmt::format("--tensor: '{}' is named twice; name it once", part));
  }
}

WeightsOptions options_of(const Axes& axes) {
  WeightsOptions options;
  options.layer = axes.layer.value_or("");
  options.heads = one_number("--heads", axes.heads);
  options.kv_heads = one_number("--kv-heads", axes.kv_heads);
  options.head_dim = one_number("--head-dim", axes.head_dim);
  if (axes.no_causal && axes.causal) {
    throw InvalidArgument("--causal and --no-causal contradict each other; give one of them");
  }
  if (axes.no_causal || axes.causal) options.causal = axes.causal;
  if (axes.window) options.window = parse_numbers("--window", *axes.window).front();
  options.rotary = parse_rotary(axes.rotary);
  for (const std::string& tensor : axes.tensors) add_tensor(tensor, options);
  options.stored = parse_stored(axes.stored);
  options.strict = axes.strict;
  return options;
}

void refuse_without_weights(const Axes& axes) {
  const std::pair<bool, const char*> given[] = {{axes.layer.has_value(), "--layer"},
                                                {!axes.tensors.empty(), "--tensor"},
                                                {axes.stored.has_value(), "--stored"},
                                                {axes.causal, "--causal"},
                                                {axes.strict, "--strict"}};
  for (const auto& [is_given, option] : given) {
    if (is_given) {
      throw InvalidArgument(
          fmt::format("{}: it says something of a file of weights; add --weights FILE", option));
    }
  }
}

void require_equal(const char* option, const std::optional<std::string>& text, std::int64_t found) {
  const std::int64_t given = one_number(option, text);
  if (given == 0 || given == found) return;
  throw InvalidArgument(
      fmt::format("{}: {} was given, but the layer of --weights has {}; leave the option out",
                  option, given, found));
}

}  // namespace

std::shared_ptr<const UserWeights> find_user_weights(const Axes& axes) {
  if (!axes.weights) {
    refuse_without_weights(axes);
    return nullptr;
  }
  if (axes.model || axes.preset) {
    throw InvalidArgument(fmt::format("{}: the sizes are those of --weights; leave one of them out",
                                      axes.model ? "--model" : "--preset"));
  }
  const WeightsOptions options = options_of(axes);
  auto found = std::make_shared<UserWeights>();
  found->path = *axes.weights;
  found->strict = options.strict;
  weights::TensorSet set(found->path);
  found->layer = weights::find_stored_layer(set, options);
  found->survey = weights::survey(found->layer, options.strict);
  return found;
}

Axes without_layer_axes(const Axes& axes, const Shape& layer, std::vector<std::string>& notes) {
  require_equal("--d-model", axes.d_model, layer.d_out);
  require_equal("--d-in", axes.d_in, layer.d_in);
  if (axes.qkv_bias && !layer.qkv_bias) {
    throw InvalidArgument("--qkv-bias: the layer of --weights has no such biases; leave it out");
  }
  if (axes.no_out_proj && layer.d_proj > 0) {
    notes.emplace_back("the output projection of --weights is left out, as asked");
  }
  Axes rest = axes;
  rest.heads = rest.kv_heads = rest.head_dim = rest.d_model = rest.d_in = std::nullopt;
  rest.rotary = std::nullopt;
  return rest;
}

SplitWeights load_user_weights(const UserWeights& user, const Shape& shape) {
  WeightsOptions options;
  options.strict = user.strict;
  LayerWeights loaded = weights::load(user.layer, options);
  if (loaded.fingerprint != user.survey.fingerprint) {
    throw FileError(
        fmt::format("{}: the weights have changed since they were read first; start again",
                    shown_path(user.path)));
  }
  if (shape.d_proj == 0) {
    loaded.weights.output = {};
    loaded.weights.output_bias.clear();
  }
  return std::move(loaded.weights);
}

}  // namespace headroom::plan
