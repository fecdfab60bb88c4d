#include "headroom/headroom.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "c_api/options.hpp"
#include "c_api/statuses.hpp"
#include "c_api/structs.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"

namespace {

using namespace headroom::c_api;
using headroom::InvalidArgument;

// The sizes of the structs in the first version that had sizes; no struct was ever smaller.
constexpr std::size_t kFirstShape = offsetof(headroom_shape, dropout_seed) + sizeof(uint64_t);
constexpr std::size_t kFirstWeights =
    offsetof(headroom_weights, output_bias) + sizeof(headroom_matrix*);

headroom_shape default_shape() {
  headroom_shape shape{};
  shape.batch = 1;
  shape.heads = 1;
  shape.causal = 1;
  shape.rotary_base = headroom::Rotary{}.base;
  shape.rotary_scale = headroom::Rotary{}.scale;
  return shape;
}

headroom::Rotary rotary_of(const headroom_shape& shape) {
  using Pairs = headroom::Rotary::Pairs;
  switch (shape.rotary_pairs) {
    case HEADROOM_ROTARY_NONE:
      return {Pairs::none, shape.rotary_base, shape.rotary_scale};
    case HEADROOM_ROTARY_NEIGHBOURS:
      return {Pairs::neighbours, shape.rotary_base, shape.rotary_scale};
    case HEADROOM_ROTARY_HALVES:
      return {Pairs::halves, shape.rotary_base, shape.rotary_scale};
    default:
      throw InvalidArgument(
          fmt::format("headroom_create: shape.rotary_pairs is {}; allowed are {} (none), {} "
                      "(neighbours) and {} (halves)",
                      shape.rotary_pairs, +HEADROOM_ROTARY_NONE, +HEADROOM_ROTARY_NEIGHBOURS,
                      +HEADROOM_ROTARY_HALVES));
  }
}

headroom::Shape shape_of(const headroom_shape& shape) {
  return {.batch = shape.batch,
          .tokens = shape.tokens,
          .d_in = shape.d_in,
          .d_out = shape.d_out,
          .heads = shape.heads,
          .causal = shape.causal != 0,
          .qkv_bias = shape.qkv_bias != 0,
          .d_proj = shape.d_proj,
          .dropout = shape.dropout,
          .dropout_seed = shape.dropout_seed,
          .kv_heads = shape.kv_heads,
          .window = shape.window,
          .rotary = rotary_of(shape),
          .d_memory = shape.d_memory,
          .memory_tokens = shape.memory_tokens};
}

/// Checks that a weight is given exactly where this shape needs one.
headroom::ConstAnyMatrix view_of(const headroom_matrix* given, const char* name, bool needed) {
  if (needed && given == nullptr) {
    throw InvalidArgument(
        fmt::format("headroom_create: weights.{} is NULL; this shape needs it", name));
  }
  if (given == nullptr) return {};
  if (!needed) {
    throw InvalidArgument(fmt::format(
        "headroom_create: weights.{} is given, but this shape has no such part; pass NULL", name));
  }
  return read_matrix_view({"headroom_create", fmt::format("weights.{}", name)}, given);
}

/// @pre the shape is valid.
headroom::WeightViews weights_of(const headroom_weights& given, const headroom::Shape& shape) {
  headroom::WeightViews weights;
  weights.query = view_of(given.query, "query", true);
  weights.key = view_of(given.key, "key", true);
  weights.value = view_of(given.value, "value", true);
  weights.query_bias = view_of(given.query_bias, "query_bias", shape.qkv_bias);
  weights.key_bias = view_of(given.key_bias, "key_bias", shape.qkv_bias);
  weights.value_bias = view_of(given.value_bias, "value_bias", shape.qkv_bias);
  weights.output = view_of(given.output, "output", shape.d_proj > 0);
  weights.output_bias = view_of(given.output_bias, "output_bias", shape.d_proj > 0);
  return weights;
}

}  // namespace

void headroom_init_shape(headroom_shape* shape, std::size_t size) {
  write_defaults(shape, size, default_shape());
}

void headroom_init_weights(headroom_weights* weights, std::size_t size) {
  write_defaults(weights, size, {});
}

headroom_status headroom_create(const headroom_shape* shape, const headroom_weights* weights,
                                const headroom_options* options, headroom_layer** layer) {
  if (layer != nullptr) *layer = nullptr;
  return guarded([&] {
    require(shape, "headroom_create", "shape");
    require(weights, "headroom_create", "weights");
    require(layer, "headroom_create", "layer");
    const headroom::Shape checked =
        shape_of(read_struct(*shape, default_shape(), kFirstShape, {"headroom_create", "shape"}));
    checked.validate();
    const headroom::AttentionOptions chosen = read_options("headroom_create", options);
    const headroom_weights given =
        read_struct(*weights, {}, kFirstWeights, {"headroom_create", "weights"});
    headroom::Attention made(checked, weights_of(given, checked), chosen);
    std::string reason = reason_of(made.choice());
    *layer = new headroom_layer{std::move(made), std::move(reason)};
  });
}

const char* headroom_chosen_backend(const headroom_layer* layer) {
  return layer == nullptr ? nullptr : layer->layer.options().backend.c_str();
}

const char* headroom_chosen_precision(const headroom_layer* layer) {
  // Names of a table of literals, each with its zero.
  return layer == nullptr ? nullptr : headroom::to_string(layer->layer.choice().precision).data();
}

const char* headroom_choice_reason(const headroom_layer* layer) {
  return layer == nullptr ? nullptr : layer->reason.c_str();
}

void headroom_destroy(headroom_layer* layer) { delete layer; }

const char* headroom_version(void) { return HEADROOM_VERSION; }
