#include "plan/user_weights.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom::plan {
namespace {

// An axis that is a list elsewhere: the file's layer has one size.
std::int64_t one_number(const Axis<std::int64_t>& axis) {
  if (!axis) return 0;
  if (axis.values().size() != 1) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' are {} values, but the layer of --weights has one; leave the option out",
        axis.option(), axis.text(), axis.values().size()));
  }
  return axis.values().front();
}

WeightsOptions options_of(const Axes& axes) {
  WeightsOptions options;
  options.layer = axes.layer.text();
  options.config = axes.config.text();
  options.family = axes.family.text();
  options.heads = one_number(axes.heads);
  options.kv_heads = one_number(axes.kv_heads);
  options.head_dim = one_number(axes.head_dim);
  if (axes.no_causal && axes.causal) {
    throw InvalidArgument("--causal and --no-causal contradict each other; give one of them");
  }
  if (axes.no_causal || axes.causal) options.causal = axes.causal;
  options.window = axes.window.first();
  if (axes.rotary) options.rotary = Rotary{*axes.rotary.first()};
  for (const auto& [part, name] : axes.tensor.values()) {
    if (!options.tensors.try_emplace(part, name).second) {
      throw InvalidArgument(fmt::format("--tensor: '{}' is named twice; name it once", part));
    }
  }
  options.stored = axes.stored.first();
  options.strict = axes.strict;
  return options;
}

void refuse_without_weights(const Axes& axes) {
  Axes::each(axes, [&](const auto& axis) {
    if (!axis || !axis.words().says_weights) return;
    const std::string_view name = axis.words().name;
    if (axes.config && (name == "layer" || name == "family")) return;
    throw InvalidArgument(fmt::format(
        "--{}: it says something of a file of weights; add --weights FILE", axis.words().name));
  });
}

void require_equal(const Axis<std::int64_t>& axis, std::int64_t found) {
  const std::int64_t given = one_number(axis);
  if (given == 0 || given == found) return;
  throw InvalidArgument(
      fmt::format("{}: {} was given, but the layer of --weights has {}; leave the option out",
                  axis.option(), given, found));
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
  found->path = axes.weights.text();
  found->strict = options.strict;
  weights::TensorSet set(found->path);
  found->layer = weights::find_stored_layer(set, options);
  found->survey = weights::survey(found->layer, options.strict);
  return found;
}

Axes without_layer_axes(const Axes& axes, const LayerConfig& layer,
                        std::vector<std::string>& notes) {
  require_equal(axes.d_model, layer.d_out);
  require_equal(axes.d_in, layer.d_in);
  if (axes.qkv_bias && !layer.qkv_bias) {
    throw InvalidArgument("--qkv-bias: the layer of --weights has no such biases; leave it out");
  }
  if (axes.no_out_proj && layer.d_proj > 0) {
    notes.emplace_back("the output projection of --weights is left out, as asked");
  }
  const auto refuse = [](const auto& axis) {
    if (!axis) return;
    throw InvalidArgument(fmt::format("--{}: the layer of --weights says it; leave the option out",
                                      axis.words().name));
  };
  refuse(axes.qk_norm);
  refuse(axes.scale);
  refuse(axes.softcap);
  refuse(axes.sinks);
  if (axes.outliers) {
    throw InvalidArgument(
        "--outliers: they are drawn with the weights, and --weights gives those; leave one of them "
        "out");
  }
  Axes rest = axes;
  for (auto* axis : {&rest.heads, &rest.kv_heads, &rest.head_dim, &rest.d_model, &rest.d_in}) {
    axis->reset();
  }
  rest.rotary.reset();
  return rest;
}

SplitWeights load_user_weights(const UserWeights& user, const Case& shape) {
  WeightsOptions options;
  options.strict = user.strict;
  LayerWeights loaded = weights::load(user.layer, options);
  if (loaded.fingerprint != user.survey.fingerprint) {
    throw FileError(
        fmt::format("{}: the weights have changed since they were read first; start again",
                    shown_path(user.path)));
  }
  if (shape.d_proj == 0) {
    loaded.weights.output = loaded.weights.output_bias = {};
  }
  return to_split(loaded.weights);
}

}  // namespace headroom::plan
