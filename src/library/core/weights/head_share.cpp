#include "headroom/head_share.hpp"

#include <fmt/format.h>

#include "core/weights/matrix_parts.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

// Where part `index` of `parts` begins. Rounded up, so that the first one is never empty.
std::int64_t begin_of(std::int64_t count, std::int64_t index, std::int64_t parts) {
  return (count * index + parts - 1) / parts;
}

}  // namespace

HeadShare share_of(const LayerConfig& config, int ranks, int rank) {
  config.validate();
  if (ranks > 1 && config.norm.over == QueryKeyNorm::Over::width) {
    throw Unsupported(
        "ranks: a norm over the width needs all heads of a token, and each rank has some; use one "
        "rank");
  }
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw InvalidArgument(fmt::format(
        "ranks: there is no rank {} of {}; allowed are 1 rank and above, counted from 0", rank,
        ranks));
  }
  const std::int64_t key_heads = config.key_heads();
  const std::int64_t group = config.heads / key_heads;
  if (ranks <= key_heads) {
    const std::int64_t first = begin_of(key_heads, rank, ranks);
    const std::int64_t count = begin_of(key_heads, rank + 1, ranks) - first;
    return {first * group, count * group, first, count};
  }
  const std::int64_t key_head = std::int64_t{rank} * key_heads / ranks;
  const std::int64_t first_rank = begin_of(ranks, key_head, key_heads);
  const std::int64_t sharers = begin_of(ranks, key_head + 1, key_heads) - first_rank;
  const std::int64_t first = begin_of(group, rank - first_rank, sharers);
  const std::int64_t count = begin_of(group, rank - first_rank + 1, sharers) - first;
  return {key_head * group + first, count, key_head, count > 0 ? 1 : 0};
}

LayerConfig share_config(const LayerConfig& config, const HeadShare& share) {
  LayerConfig own = config;
  own.heads = share.heads;
  own.kv_heads = share.key_heads == share.heads ? 0 : share.key_heads;
  own.d_out = share.heads * config.head_dim();
  return own;
}

SplitWeights share_weights(const LayerConfig& config, const SplitWeights& weights,
                           const HeadShare& share) {
  check_weights(config, weights);
  const std::int64_t head_dim = config.head_dim();
  const std::int64_t first = share.first_head * head_dim;
  const std::int64_t width = share.heads * head_dim;
  const std::int64_t first_key = share.first_key_head * config.own_key_dim();
  const std::int64_t key_width = share.key_heads * config.own_key_dim();
  const std::int64_t value_dim = config.head_value_dim();
  const std::int64_t first_value = share.first_key_head * value_dim;
  const std::int64_t value_width = share.key_heads * value_dim;
  const std::int64_t first_out = share.first_head * value_dim;
  const std::int64_t out_width = share.heads * value_dim;
  SplitWeights own;
  own.query = columns(weights.query, first, width);
  own.key = columns(weights.key, first_key, key_width);
  own.value = columns(weights.value, first_value, value_width);
  own.query_bias = part(weights.query_bias, first, width);
  own.key_bias = part(weights.key_bias, first_key, key_width);
  own.value_bias = part(weights.value_bias, first_value, value_width);
  own.query_norm = weights.query_norm;
  own.key_norm = weights.key_norm;
  own.query_down = weights.query_down;
  own.key_down = weights.key_down;
  own.query_down_norm = weights.query_down_norm;
  own.key_down_norm = weights.key_down_norm;
  own.sinks = part(weights.sinks, share.first_head, share.heads);
  if (config.gate) own.gate = columns(weights.gate, first_out, out_width);
  if (config.position_bias.kind != PositionBias::Kind::none) {
    own.position_bias = columns(weights.position_bias, share.first_head, share.heads);
  }
  if (config.d_proj == 0) return own;
  own.output = rows(weights.output, first_out, out_width);
  own.output_bias = weights.output_bias;
  if (share.first_head > 0) own.output_bias.assign(own.output_bias.size(), 0.0F);
  return own;
}

}  // namespace headroom
