#include "weights/layer/stored_layer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/nearest.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/layer/config/read_config.hpp"
#include "weights/layer/families.hpp"
#include "weights/layer/gguf/gguf_config.hpp"
#include "weights/layer/latent_tensors.hpp"
#include "weights/layer/layer_shape_rules.hpp"
#include "weights/layer/naming.hpp"
#include "weights/layer/stored_parts.hpp"

namespace headroom::weights {
namespace {

// ALiBi's: those of the largest power of two, then every second one of the next.
std::vector<double> slopes_of(std::int64_t heads, double factor) {
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::int64_t step = h < power ? 2 * (h + 1) : 2 * (h - power) + 1;
    const double share = static_cast<double>(step) / static_cast<double>(2 * power);
    slopes.push_back(factor * std::exp2(-8 * share));
  }
  return slopes;
}

// Puts the stored matrices and biases together, once the shape is known.
class Assembly {
 public:
  Assembly(TensorSet& set, const Naming& naming, const std::optional<ModelConfig>& model)
      : set_(set), names_(naming.names) {
    if (model && naming.found) {
      gated_ = model->rules.gate;
      groups_ = model->qkv_groups;
    }
    const bool needs_model = naming.found && naming.found->layout->name == "falcon";
    if (needs_model && (!model || model->family.empty())) {
      throw InvalidArgument(
          "--config: rows of query_key_value follow each other in an order that only the model's "
          "config.json says; put it beside the weights, or give --config FILE");
    }
    for (const std::string* name : {&names_.query, &names_.key, &names_.value, &names_.qkv}) {
      if (!name->empty()) inputs_.push_back(find_matrix(set, *name, naming.stored));
    }
    if (!names_.output.empty()) output_ = find_matrix(set, names_.output, naming.stored);
    check();
  }

  Widths widths() const {
    Widths widths;
    widths.d_in = inputs_.front().inputs;
    for (const StoredMatrix& matrix : inputs_) widths.qkv_width += matrix.outputs;
    if (gated_) widths.qkv_width -= query_outputs();
    widths.heads_width = fused() ? (output_ ? output_->inputs : 0) : query_outputs();
    widths.d_proj = output_ ? output_->outputs : 0;
    return widths;
  }

  void finish(StoredLayer& layer, const std::optional<ModelConfig>& model) {
    LayerConfig& config = layer.config;
    if (fused()) {
      inputs_[0].parts =
          fused_parts(config, {&WeightViews::query, &WeightViews::key, &WeightViews::value});
    } else {
      const std::int64_t head_dim = config.head_dim();
      inputs_[0].parts = {{&WeightViews::query, 0, config.d_out}};
      if (gated_) {
        inputs_[0].parts = {{&WeightViews::query, 0, head_dim, config.heads, 2 * head_dim},
                            {&WeightViews::gate, head_dim, head_dim, config.heads, 2 * head_dim}};
      }
      inputs_[1].parts = {{&WeightViews::key, 0, config.kv_width()}};
      inputs_[2].parts = {{&WeightViews::value, 0, config.kv_width()}};
    }
    config.gate = gated_;
    if (output_) output_->parts = {{&WeightViews::output, 0, config.d_proj}};
    layer.matrices = std::move(inputs_);
    if (output_) layer.matrices.push_back(std::move(*output_));
    add_biases(layer);
    add_norms(layer, model);
    config.sinks = !names_.sinks.empty();
    add_bias(layer, names_.sinks, {{&WeightViews::sinks, 0, config.heads}});
    add_position_bias(layer, model);
  }

 private:
  bool fused() const { return inputs_.size() == 1; }
  std::int64_t query_outputs() const {
    return gated_ ? inputs_.front().outputs / 2 : inputs_.front().outputs;
  }

  // Query, key and value of each group one after the other.
  std::vector<MatrixPart> fused_parts(
      const LayerConfig& config, const std::array<ConstAnyMatrix WeightViews::*, 3>& into) const {
    const std::int64_t query = config.d_out / groups_, key = config.kv_width() / groups_;
    const std::int64_t stride = query + 2 * key;
    return {{into[0], 0, query, groups_, stride},
            {into[1], query, key, groups_, stride},
            {into[2], query + key, key, groups_, stride}};
  }

  void check() const {
    const StoredMatrix& first = inputs_.front();
    for (const StoredMatrix& matrix : inputs_) {
      if (matrix.inputs != first.inputs) {
        fail_shape(matrix, fmt::format("'{}' has {} inputs", shown_name(first.tensor.tensor.name),
                                       first.inputs));
      }
    }
    if (!fused() && inputs_[1].outputs != inputs_[2].outputs) {
      fail_shape(inputs_[2], fmt::format("the key has {} outputs", inputs_[1].outputs));
    }
    if (output_ && !fused() && output_->inputs != query_outputs()) {
      fail_shape(*output_, fmt::format("the query has {} outputs", query_outputs()));
    }
    if (fused() && output_ && first.outputs <= output_->inputs) {
      fail_shape(first, fmt::format("the output projection has {} inputs, which are to be the "
                                    "query's outputs alone",
                                    output_->inputs));
    }
  }

  void add_bias(StoredLayer& layer, const std::string& name, std::vector<BiasPart> parts) {
    if (name.empty()) return;
    layer.biases.push_back(find_bias(set_, name, std::move(parts)));
  }

  void add_biases(StoredLayer& layer) {
    LayerConfig& config = layer.config;
    const std::int64_t d_out = config.d_out, kv_width = config.kv_width();
    add_bias(layer, names_.query_bias, {{&WeightViews::query_bias, 0, d_out}});
    add_bias(layer, names_.key_bias, {{&WeightViews::key_bias, 0, kv_width}});
    add_bias(layer, names_.value_bias, {{&WeightViews::value_bias, 0, kv_width}});
    add_bias(layer, names_.qkv_bias,
             fused_parts(config, {&WeightViews::query_bias, &WeightViews::key_bias,
                                  &WeightViews::value_bias}));
    config.qkv_bias = !layer.biases.empty();
    add_bias(layer, names_.output_bias, {{&WeightViews::output_bias, 0, config.d_proj}});
  }

  // Values of buckets lie in the file, slopes follow from the number of heads.
  void add_position_bias(StoredLayer& layer, const std::optional<ModelConfig>& model) {
    LayerConfig& config = layer.config;
    if (config.position_bias.kind == PositionBias::Kind::none) return;
    if (config.position_bias.kind == PositionBias::Kind::slopes) {
      layer.slopes = slopes_of(config.heads, model->slope_factor);
    } else if (names_.position_bias.empty()) {
      config.position_bias = {};
    } else {
      // One row for each bucket, which is an input of what the tensor multiplies.
      StoredMatrix values = find_matrix(set_, names_.position_bias, Stored::in_out);
      if (values.inputs != config.position_bias.buckets || values.outputs != config.heads) {
        fail_shape(values, fmt::format("there are {} buckets and {} heads",
                                       config.position_bias.buckets, config.heads));
      }
      values.parts = {{&WeightViews::position_bias, 0, config.heads}};
      layer.matrices.push_back(std::move(values));
    }
  }

  // Over the width, or for each head: as many weights as there are.
  void add_norms(StoredLayer& layer, const std::optional<ModelConfig>& model) {
    LayerConfig& config = layer.config;
    if (names_.query_norm.empty() != names_.key_norm.empty()) {
      throw InvalidArgument("--tensor: name query_norm and key_norm, or neither");
    }
    if (names_.query_norm.empty()) {
      if (config.norm.weighted) config.norm = {};
      return;
    }
    const bool over_heads =
        find_values(set_, names_.query_norm, 1).tensor.dims[0] == config.head_dim() &&
        config.norm.over != QueryKeyNorm::Over::width;
    config.norm.over = over_heads ? QueryKeyNorm::Over::head : QueryKeyNorm::Over::width;
    const std::int64_t width = config.head_dim();
    add_bias(layer, names_.query_norm,
             {{&WeightViews::query_norm, 0, over_heads ? width : config.d_out}});
    layer.biases.back().plus_one = model && model->norm_plus_one;
    add_bias(layer, names_.key_norm,
             {{&WeightViews::key_norm, 0, over_heads ? width : config.kv_width()}});
    layer.biases.back().plus_one = model && model->norm_plus_one;
  }

  TensorSet& set_;
  const LayerNames& names_;
  std::vector<StoredMatrix> inputs_;  // query, key and value, or all of them in one
  std::optional<StoredMatrix> output_;
  bool gated_ = false;
  std::int64_t groups_ = 1;
};

std::optional<ModelConfig> config_of(TensorSet& set, const WeightsOptions& options,
                                     const FoundLayer* found) {
  ConfigLayer layer{.family = options.family};
  if (found != nullptr) layer.number = found->number, layer.name = found->prefix;
  if (!options.family.empty() && find_family(options.family) == nullptr) {
    throw InvalidArgument(fmt::format("--family: unknown family '{}'; {}",
                                      shown_name(options.family),
                                      suggest(options.family, family_names())));
  }
  if (set.metadata() == nullptr) {
    std::optional<ModelConfig> config = options.config.empty()
                                            ? read_config(set.folder(), layer)
                                            : read_config_file(options.config, layer);
    if (!config && !options.family.empty()) {
      throw InvalidArgument(
          fmt::format("--family: {} has no config.json, which would say the family's sizes; give "
                      "--config FILE",
                      shown_path(set.folder())));
    }
    return config;
  }
  if (!options.family.empty()) {
    throw InvalidArgument(
        fmt::format("--family: {} says itself what its layers are; leave the option out",
                    shown_path(set.path())));
  }
  if (!options.config.empty()) {
    throw InvalidArgument(
        fmt::format("--config: {} says itself what its layers are, and its tensors may lie in "
                    "another order than those of the configuration; leave the option out",
                    shown_path(set.path())));
  }
  return read_gguf_config(set, layer.number);
}

// What an unknown family computes between tensors of known names is its own code's secret.
void require_known_family(const ModelConfig& config) {
  if (config.family.empty() || config.known) return;
  throw Unsupported(fmt::format(
      "{}: its model_type '{}' is no family that headroom knows, so what the layer computes is not "
      "known; where it is what a known family does, such as llama, say so with --family "
      "(docs/run.md lists them); to run the layer by its tensors alone, name them with --tensor",
      shown_path(config.path), shown_name(config.family)));
}

void note_or_refuse(const std::optional<ModelConfig>& config, bool recognised,
                    std::vector<std::string>& notes) {
  if (!config || config->foreign.empty()) return;
  const std::string what =
      fmt::format("{}: {}", shown_path(config->path), fmt::join(config->foreign, ", "));
  if (recognised) {
    throw Unsupported(what +
                      ", which headroom does not compute; to run the layer without, name "
                      "its tensors with --tensor");
  }
  notes.push_back(what + ", which is left out");
}

// A model's class adds no biases that its configuration does not speak of, and needs those that it
// does.
void require_biases_as_said(const TensorSet& set, const ModelConfig& config, bool found) {
  if (!config.known || set.metadata() != nullptr || config.rules.qkv_bias == found) return;
  throw FileError(fmt::format(
      "{}: {} says that queries, keys and values have {}, and the tensors have {}; correct the "
      "file, or name the layer's tensors with --tensor",
      shown_path(set.path()), shown_path(config.path),
      config.rules.qkv_bias ? "biases" : "no biases", found ? "some" : "none"));
}

}  // namespace

StoredLayer find_stored_layer(TensorSet& set, const WeightsOptions& options) {
  Naming naming = name_tensors(set, options);
  const FoundLayer* found = naming.found ? &*naming.found : nullptr;
  const std::optional<ModelConfig> config = config_of(set, options, found);
  StoredLayer layer;
  layer.layout = found != nullptr ? std::string(found->layout->name) : kNamedLayout;
  layer.layer = found != nullptr ? found->name() : "";
  if (config && found != nullptr) layer.family = config->family;
  if (!set.note().empty()) layer.notes.push_back(set.note());
  if (config && found != nullptr) require_known_family(*config);
  note_or_refuse(config, found != nullptr, layer.notes);
  if (!options.family.empty()) {
    layer.notes.push_back(fmt::format("computed as a layer of {}, as asked", options.family));
  }
  name_parameters(set, config, naming);
  if (found != nullptr && !found->layout->down.empty()) {
    add_latent_tensors(set, naming, config, options, layer);
    return layer;
  }
  Assembly assembly(set, naming, config);
  layer.config = config_of_layer(assembly.widths(), options, config, found, layer.notes);
  assembly.finish(layer, config);
  if (config && found != nullptr) require_biases_as_said(set, *config, layer.config.qkv_bias);
  return layer;
}

}  // namespace headroom::weights
