#include "weights/layer/latent_tensors.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/layer/layer_shape_rules.hpp"

namespace headroom::weights {
namespace {

class LatentTensors {
 public:
  LatentTensors(TensorSet& set, const Naming& naming, StoredLayer& layer)
      : set_(set), naming_(naming), layer_(layer) {}

  // Of the query and the output projection, which say how wide the layer is.
  Widths widths() {
    const StoredMatrix query = matrix(through() ? kLatentQueryUp : kLatentQuery);
    const StoredMatrix down = matrix(naming_.found->layout->down);
    Widths widths;
    widths.d_in = down.inputs;
    widths.heads_width = query.outputs;
    widths.qkv_width = 3 * query.outputs;  // expanded: as many keys and values
    widths.d_proj = matrix(naming_.found->layout->output).outputs;
    return widths;
  }

  void add() {
    const LayerConfig& config = layer_.config;
    const std::int64_t own = config.own_key_dim(), value = config.head_value_dim();
    if (through()) {
      add(kLatentQueryDown, config.d_in, config.latent.query_rank,
          {{&WeightViews::query_down, 0, config.latent.query_rank}});
      add_norm(kLatentQueryNorm, &WeightViews::query_down_norm, config.latent.query_rank);
    }
    add(through() ? kLatentQueryUp : kLatentQuery, config.query_depth(), config.d_out,
        {{&WeightViews::query, 0, config.d_out}});
    add(naming_.found->layout->down, config.d_in, config.latent_width(),
        {{&WeightViews::key_down, 0, config.latent_width()}});
    add_norm(kLatentKeyNorm, &WeightViews::key_down_norm, config.latent.rank);
    add(naming_.found->layout->key, config.latent.rank, config.heads * (own + value),
        {{&WeightViews::key, 0, own, config.heads, own + value},
         {&WeightViews::value, own, value, config.heads, own + value}});
    add(naming_.found->layout->output, config.context_width(), config.d_proj,
        {{&WeightViews::output, 0, config.d_proj}});
    const std::string bias = bias_of(name(naming_.found->layout->output));
    if (!set_.has(bias)) return;
    layer_.biases.push_back(find_bias(set_, bias, {{&WeightViews::output_bias, 0, config.d_proj}}));
  }

  void refuse_biases() const {
    const Layout& layout = *naming_.found->layout;
    for (const std::string_view word :
         {kLatentQuery, kLatentQueryDown, kLatentQueryUp, layout.down, layout.key}) {
      const std::string bias = bias_of(name(word));
      if (!set_.has(bias)) continue;
      throw Unsupported(
          fmt::format("{}: the layer has '{}', a bias beside latents, which headroom does not add",
                      shown_path(set_.path()), shown_name(bias)));
    }
  }

  bool through() const { return set_.has(name(kLatentQueryDown)); }

 private:
  std::string name(std::string_view word) const {
    return naming_.found->prefix + std::string(word);
  }
  StoredMatrix matrix(std::string_view word) {
    return find_matrix(set_, name(word), naming_.stored);
  }

  void add(std::string_view word, std::int64_t inputs, std::int64_t outputs,
           std::vector<MatrixPart> parts) {
    StoredMatrix found = matrix(word);
    if (found.inputs != inputs || found.outputs != outputs) {
      fail_shape(found, fmt::format("config.json says {} and {}", inputs, outputs));
    }
    found.parts = std::move(parts);
    layer_.matrices.push_back(std::move(found));
  }

  void add_norm(std::string_view word, ConstAnyMatrix WeightViews::*into, std::int64_t width) {
    layer_.biases.push_back(find_bias(set_, name(word), {{into, 0, width}}));
  }

  TensorSet& set_;
  const Naming& naming_;
  StoredLayer& layer_;
};

}  // namespace

void add_latent_tensors(TensorSet& set, const Naming& naming,
                        const std::optional<ModelConfig>& model, const WeightsOptions& options,
                        StoredLayer& layer) {
  if (!model || !model->rules.is_latent()) {
    throw InvalidArgument(
        "--config: keys and values of this layer are made of latents, whose widths only the "
        "model's config.json says; put it beside the weights, or give --config FILE");
  }
  LatentTensors tensors(set, naming, layer);
  tensors.refuse_biases();
  if (tensors.through() != (model->rules.latent.query_rank > 0)) {
    throw FileError(fmt::format(
        "{}: q_lora_rank says {} latent of queries, and the layer has {}; correct the file or give "
        "the model's own",
        shown_path(model->path), tensors.through() ? "no" : "a",
        tensors.through() ? "one" : "none"));
  }
  layer.config = config_of_layer(tensors.widths(), options, model, &*naming.found, layer.notes);
  tensors.add();
}

}  // namespace headroom::weights
