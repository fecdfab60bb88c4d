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
constexpr std::size_t kFirstConfig = offsetof(headroom_layer_config, d_memory) + sizeof(int64_t);
constexpr std::size_t kFirstCallSizes =
    offsetof(headroom_call_sizes, memory_tokens) + sizeof(int64_t);
constexpr std::size_t kFirstWeights =
    offsetof(headroom_weights, output_bias) + sizeof(headroom_matrix*);

headroom_layer_config default_config() { return c_config_of({}); }

headroom_call_sizes default_call_sizes() {
  headroom_call_sizes sizes{};
  sizes.batch = 1;
  return sizes;
}

headroom::CallSizes sizes_of(const headroom_call_sizes& sizes) {
  return {sizes.batch, sizes.tokens, sizes.past, sizes.memory_tokens};
}

/// Checks that a weight is given exactly where this layer needs one.
headroom::ConstAnyMatrix view_of(const headroom_matrix* given, const char* name, bool needed) {
  if (needed && given == nullptr) {
    throw InvalidArgument(
        fmt::format("headroom_create: weights.{} is NULL; this layer needs it", name));
  }
  if (given == nullptr) return {};
  if (!needed) {
    throw InvalidArgument(fmt::format(
        "headroom_create: weights.{} is given, but this layer has no such part; pass NULL", name));
  }
  return read_matrix_view({"headroom_create", fmt::format("weights.{}", name)}, given);
}

/// @pre the layer is valid.
headroom::WeightViews weights_of(const headroom_weights& given,
                                 const headroom::LayerConfig& config) {
  headroom::WeightViews weights;
  weights.query = view_of(given.query, "query", true);
  weights.key = view_of(given.key, "key", true);
  weights.value = view_of(given.value, "value", true);
  weights.query_bias = view_of(given.query_bias, "query_bias", config.qkv_bias);
  weights.key_bias = view_of(given.key_bias, "key_bias", config.qkv_bias);
  weights.value_bias = view_of(given.value_bias, "value_bias", config.qkv_bias);
  weights.output = view_of(given.output, "output", config.d_proj > 0);
  weights.output_bias = view_of(given.output_bias, "output_bias", config.d_proj > 0);
  weights.query_norm = view_of(given.query_norm, "query_norm", config.query_norm_width() > 0);
  weights.key_norm = view_of(given.key_norm, "key_norm", config.key_norm_width() > 0);
  weights.sinks = view_of(given.sinks, "sinks", config.sinks);
  weights.gate = view_of(given.gate, "gate", config.gate);
  weights.position_bias =
      view_of(given.position_bias, "position_bias", config.position_bias_rows() > 0);
  const bool latent_queries = config.is_latent() && config.latent.query_rank > 0;
  weights.query_down = view_of(given.query_down, "query_down", latent_queries);
  weights.query_down_norm = view_of(given.query_down_norm, "query_down_norm", latent_queries);
  weights.key_down = view_of(given.key_down, "key_down", config.is_latent());
  weights.key_down_norm = view_of(given.key_down_norm, "key_down_norm", config.is_latent());
  return weights;
}

}  // namespace

void headroom_init_layer_config(headroom_layer_config* config, std::size_t size) {
  write_defaults(config, size, default_config());
}

void headroom_init_call_sizes(headroom_call_sizes* sizes, std::size_t size) {
  write_defaults(sizes, size, default_call_sizes());
}

void headroom_init_weights(headroom_weights* weights, std::size_t size) {
  write_defaults(weights, size, {});
}

headroom_status headroom_create(const headroom_layer_config* config,
                                const headroom_call_sizes* largest, const headroom_weights* weights,
                                const headroom_options* options, headroom_layer** layer) {
  if (layer != nullptr) *layer = nullptr;
  return guarded([&] {
    require(config, "headroom_create", "config");
    require(largest, "headroom_create", "largest");
    require(weights, "headroom_create", "weights");
    require(layer, "headroom_create", "layer");
    const headroom::LayerConfig checked = layer_config_of(
        read_struct(*config, default_config(), kFirstConfig, {"headroom_create", "config"}));
    checked.validate();
    const headroom::CallSizes sizes = sizes_of(read_struct(
        *largest, default_call_sizes(), kFirstCallSizes, {"headroom_create", "largest"}));
    const headroom::AttentionOptions chosen = read_options("headroom_create", options);
    const headroom_weights given =
        read_struct(*weights, {}, kFirstWeights, {"headroom_create", "weights"});
    headroom::Attention made(checked, sizes, weights_of(given, checked), chosen);
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
