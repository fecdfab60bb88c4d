#include "lesson/layer_trace.hpp"

#include <utility>

namespace headroom::lesson {
namespace {

Case without_mask(Case shape) {
  shape.causal = false;
  shape.window = 0;  // only a causal layer may have one
  return shape;
}

// The layer without its norms, its rotary positions, or both.
reference::Intermediates without(Layer layer, bool norms, bool turns) {
  if (norms) {
    layer.shape.norm = {};
    layer.weights.query_norm.clear();
    layer.weights.key_norm.clear();
  }
  if (turns) layer.shape.rotary = {};
  return reference::intermediates(layer.shape, layer.weights, layer.x.view());
}

}  // namespace

Layer layer_over(const Subject& subject) {
  Layer layer;
  layer.shape.batch = subject.batch;
  layer.shape.tokens = subject.tokens();
  layer.shape.d_in = subject.width();
  layer.x = subject.x;
  layer.words = subject.words;
  return layer;
}

LayerTrace::LayerTrace(Layer layer)
    : layer_(std::move(layer)),
      seen_(reference::intermediates(layer_.shape, layer_.weights, layer_.x.view())),
      unmasked_(
          reference::intermediates(without_mask(layer_.shape), layer_.weights, layer_.x.view())) {
  const bool norms = layer_.shape.norm.over != QueryKeyNorm::Over::none;
  const bool turns = layer_.shape.rotary.pairs != Rotary::Pairs::none;
  if (norms || turns) projected_ = without(layer_, true, true);
  const bool norm_is_last = layer_.shape.norm.after_rotary;
  if (norms && turns) between_ = without(layer_, norm_is_last, !norm_is_last);
}

const reference::Intermediates& LayerTrace::at(Stage stage) const {
  if (stage == Stage::projected && projected_) return *projected_;
  if (stage == Stage::between && between_) return *between_;
  return seen_;
}

Value LayerTrace::x() const {
  Value value =
      make_value("x", {batch_axis(), tokens_axis(), {"d_in", layer_.shape.d_in}}, layer_.x.view());
  value.kind = Value::Kind::embeddings;
  return on_path(std::move(value));
}

Value LayerTrace::projected(const char* name, const std::vector<double>& data) const {
  return make_value(name, {batch_axis(), tokens_axis(), width_axis()}, data);
}

Value LayerTrace::keyed(const char* name, const std::vector<double>& data) const {
  return make_value(name, {batch_axis(), tokens_axis(), kv_width_axis()}, data);
}

Axis LayerTrace::kv_width_axis() const {
  if (layer_.shape.key_heads() == layer_.shape.heads) return width_axis();
  return {"kv_width", layer_.shape.kv_width()};
}

Axis LayerTrace::key_heads_axis() const {
  if (layer_.shape.key_heads() == layer_.shape.heads) return heads_axis();
  return {"H_kv", layer_.shape.key_heads()};
}

Value LayerTrace::pairs(const char* name, const std::vector<double>& data) const {
  return make_value(name, {batch_axis(), heads_axis(), tokens_axis(), tokens_axis()}, data);
}

Value LayerTrace::scaled_scores() const {
  Value value = pairs("scaled scores", seen_.scores);
  const double scale = layer_.shape.score_scale();
  for (double& score : value.data) score *= scale;
  return value;
}

Value LayerTrace::attention_weights() const {
  Value value = pairs("attention weights", seen_.weights);
  value.kind = Value::Kind::attention;
  return value;
}

Value LayerTrace::dropped_weights() const {
  Value value = pairs("attention weights after dropout", seen_.dropped);
  value.kind = Value::Kind::attention;
  return value;
}

Axis LayerTrace::value_dim_axis() const {
  const std::int64_t width = layer_.shape.head_value_dim();
  return width == layer_.shape.head_dim() ? head_dim_axis() : Axis{"value_dim", width};
}

Axis LayerTrace::context_axis() const {
  const std::int64_t width = layer_.shape.context_width();
  return width == layer_.shape.d_out ? width_axis() : Axis{"context_width", width};
}

Value LayerTrace::context() const {
  return make_value("context", {batch_axis(), tokens_axis(), context_axis()}, seen_.context);
}

Value LayerTrace::context_heads() const {
  return named(swapped(unrolled(context(), 2, heads_axis(), value_dim_axis()), 1),
               "context of each head");
}

Value LayerTrace::y() const {
  const Axis width = layer_.shape.d_proj > 0 ? Axis{"d_proj", layer_.shape.d_proj} : context_axis();
  return make_value("y", {batch_axis(), tokens_axis(), width}, seen_.y);
}

Value LayerTrace::weight(const std::string& name, const Matrix& matrix) const {
  const Axis width = matrix.cols == layer_.shape.d_out ? width_axis() : kv_width_axis();
  return make_value(name, {{"d_in", matrix.rows}, width}, matrix.view());
}

Value LayerTrace::bias(const std::string& name, const std::vector<float>& bias) const {
  const auto size = static_cast<std::int64_t>(bias.size());
  return make_value(name, {size == layer_.shape.d_out ? width_axis() : kv_width_axis()}, bias);
}

std::vector<Value> LayerTrace::projections() const {
  const SplitWeights& w = layer_.weights;
  std::vector<Value> values{weight("W_query", w.query), weight("W_key", w.key),
                            weight("W_value", w.value)};
  if (layer_.shape.qkv_bias) {
    values.push_back(bias("b_query", w.query_bias));
    values.push_back(bias("b_key", w.key_bias));
    values.push_back(bias("b_value", w.value_bias));
  }
  return values;
}

}  // namespace headroom::lesson
