#include "headroom/layer_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/layer/rotary_rules.hpp"
#include "core/layer/size_checks.hpp"
#include "core/text/fingerprint.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

// Twice the widest element in use (double), so that sums of a few arrays still fit in 63 bits.
constexpr std::int64_t kBytesReserved = 16;

// A divisor of `width` among `first`, `first + step`, ...; 0 if none is near. The search is bounded
// because it only serves a hint: a width near 2^60 must not delay the error.
std::int64_t near_divisor(std::int64_t width, std::int64_t first, std::int64_t step) {
  constexpr int kSearch = 1 << 20;
  std::int64_t candidate = first;
  for (int i = 0; i < kSearch && candidate >= 1 && candidate <= width; ++i, candidate += step) {
    if (width % candidate == 0) return candidate;
  }
  return 0;
}

std::string one_or_both(std::int64_t below, std::int64_t above) {
  if (below > 0 && above > 0) return fmt::format("{} and {}", below, above);
  return fmt::format("{}", std::max(below, above));
}

void check_heads_divide(std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  const std::int64_t width_below = width / heads * heads;
  std::int64_t width_above = 0;
  if (__builtin_add_overflow(width_below, heads, &width_above)) width_above = 0;
  const std::int64_t heads_below = near_divisor(width, std::min(heads - 1, width), -1);
  const std::int64_t heads_above = near_divisor(width, heads + 1, 1);
  std::string hint = fmt::format("nearest widths: {}", one_or_both(width_below, width_above));
  if (heads_below > 0 || heads_above > 0) {
    hint += fmt::format("; nearest head counts for {}: {}", width,
                        one_or_both(heads_below, heads_above));
  }
  throw InvalidArgument(
      fmt::format("shape: d_out {} is not a multiple of heads {}; {}", width, heads, hint));
}

void check_key_heads(std::int64_t heads, std::int64_t kv_heads) {
  if (kv_heads == 0 || (kv_heads <= heads && heads % kv_heads == 0)) return;
  const std::int64_t below = near_divisor(heads, std::min(kv_heads - 1, heads), -1);
  const std::int64_t above = near_divisor(heads, kv_heads + 1, 1);
  throw InvalidArgument(
      fmt::format("shape: kv_heads {} does not divide heads {}; nearest that do: {}", kv_heads,
                  heads, one_or_both(below, above)));
}

void check_value_dim(const LayerConfig& config) {
  check_size("value_dim", config.value_dim, 0);
  check_product("heads * value_dim", {config.heads, config.value_dim});
}

void check_latent(const LayerConfig& config) {
  const Latent& latent = config.latent;
  check_size("latent rank", latent.rank, 0);
  check_size("latent query_rank", latent.query_rank, 0);
  check_size("latent shared", latent.shared, 0);
  const auto refuse = [](bool there, std::string_view name, std::string_view why) {
    if (!there) return;
    throw InvalidArgument(
        fmt::format("shape: {} and latent exclude each other: {}; leave one out", name, why));
  };
  if (latent.rank == 0) {
    if (latent == Latent{}) return;
    throw InvalidArgument(
        "shape: latent says something of a latent that has no rank; set latent.rank, its width, or "
        "leave latent out");
  }
  check_positive("latent epsilon", latent.epsilon);
  if (latent.shared >= config.head_dim()) {
    throw InvalidArgument(fmt::format(
        "shape: latent shared is {} of a head of {}; allowed are 0 to {}, because a head has to "
        "have values of its own",
        latent.shared, config.head_dim(), config.head_dim() - 1));
  }
  refuse(config.key_heads() != config.heads, "kv_heads", "each head has a key of its own");
  refuse(config.d_memory > 0, "d_memory", "the latent is made of x");
  refuse(config.qkv_bias, "qkv_bias", "what is made of a latent has no bias");
  refuse(config.clip > 0, "clip", "steps never make the keys that would be clamped");
  refuse(config.norm.over != QueryKeyNorm::Over::none, "norm",
         "steps never make the keys that it would be of");
  if (config.rotary.pairs != Rotary::Pairs::none && turned_width(config) != latent.shared) {
    throw InvalidArgument(
        fmt::format("shape: rotary width is {} and latent shared is {}; what heads share is what "
                    "turns, so they must be equal, or rotary width 0",
                    config.rotary.width, latent.shared));
  }
  check_product("d_in * latent", {config.d_in, latent.rank});
  check_product("d_in * query latent", {config.d_in, latent.query_rank});
  check_product("latent * d_out", {latent.rank, config.d_out});
  check_product("query latent * d_out", {latent.query_rank, config.d_out});
  check_product("heads * latent", {config.heads, latent.rank});
}

void check_norm(const LayerConfig& config) {
  const QueryKeyNorm& norm = config.norm;
  if (norm.over == QueryKeyNorm::Over::none) return;
  check_positive("norm epsilon", norm.epsilon);
  if (norm.after_rotary && norm.over == QueryKeyNorm::Over::width) {
    throw InvalidArgument(
        "shape: a norm over the width is of queries and keys before they are turned; set "
        "norm.after_rotary to false, or norm.over to head");
  }
}

void check_chunk(const LayerConfig& config) {
  check_size("chunk", config.chunk, 0);
  if (config.chunk == 0 || (config.causal && config.window == 0)) return;
  throw InvalidArgument(
      fmt::format("shape: chunk is {}; chunks are for causal layers without a window, so set "
                  "causal, and window "
                  "to 0, or chunk to 0",
                  config.chunk));
}

void check_position_bias(const LayerConfig& config) {
  const PositionBias& bias = config.position_bias;
  if (bias.kind == PositionBias::Kind::none) return;
  if (config.d_memory > 0) {
    throw InvalidArgument(
        "shape: a bias by position and d_memory exclude each other: the tokens of a second input "
        "have no distance to those of x; leave one out");
  }
  if (bias.kind == PositionBias::Kind::slopes) return;
  check_size("position_bias buckets", bias.buckets, 4);
  if (bias.farthest > bias.buckets) return;
  throw InvalidArgument(
      fmt::format("shape: position_bias farthest is {}; allowed are numbers above its {} buckets",
                  bias.farthest, bias.buckets));
}

void check_temperature(const LayerConfig& config) {
  check_positive_or_none("temperature step", config.temperature.step);
  if (config.temperature.step > 0) check_positive("temperature scale", config.temperature.scale);
}

void check_gate(const LayerConfig& config) {
  if (!config.gate || config.d_proj > 0) return;
  throw InvalidArgument(
      "shape: gate is of a layer with an output projection; set d_proj, or gate to false");
}

std::string latent_id(const Latent& latent) {
  if (latent.rank == 0) return "";
  std::string id = fmt::format("_latent{}x{}", latent.rank, latent.shared);
  if (latent.query_rank > 0) id += fmt::format("q{}", latent.query_rank);
  if (latent.epsilon != Latent{}.epsilon) id += fmt::format("e{}", latent.epsilon);
  return id;
}

std::string norm_id(const QueryKeyNorm& norm) {
  if (norm.over == QueryKeyNorm::Over::none) return "";
  std::string id = norm.over == QueryKeyNorm::Over::head ? "_norm" : "_normw";
  if (!norm.weighted) id += "1";
  if (norm.after_rotary) id += "after";
  if (norm.epsilon != QueryKeyNorm{}.epsilon) id += fmt::format("e{}", norm.epsilon);
  return id;
}

}  // namespace

void check_positive(std::string_view name, double value) {
  if (value > 0 && std::isfinite(value)) return;  // written so that NaN fails too
  throw InvalidArgument(fmt::format("shape: {} is {}; allowed are numbers above 0", name, value));
}

void check_positive_or_none(std::string_view name, double value) {
  if (value != 0) check_positive(name, value);
}

void check_size(std::string_view name, std::int64_t found, std::int64_t least) {
  if (found >= least) return;
  throw InvalidArgument(
      fmt::format("shape: {} is {}; allowed are {} and above, up to 2^63 - 1", name, found, least));
}

void check_product(std::string_view names, std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  bool overflow = false;
  for (const std::int64_t size : sizes) {
    overflow = overflow || __builtin_mul_overflow(product, size, &product);
  }
  if (!overflow && product <= std::numeric_limits<std::int64_t>::max() / kBytesReserved) return;
  std::string factors;
  for (const std::int64_t size : sizes) {
    factors += fmt::format("{}{}", factors.empty() ? "" : " * ", size);
  }
  throw InvalidArgument(
      fmt::format("shape: the product {} = {} is too large to be counted in 63-bit bytes; make one "
                  "of the sizes smaller",
                  names, factors));
}

void check_widths(const LayerConfig& config) {
  check_size("d_in", config.d_in, 0);
  check_size("d_out", config.d_out, 1);
  check_size("heads", config.heads, 1);
  check_size("d_proj", config.d_proj, 0);
  check_heads_divide(config.d_out, config.heads);
  check_size("kv_heads", config.kv_heads, 0);
  check_key_heads(config.heads, config.kv_heads);
  check_value_dim(config);
  check_size("window", config.window, 0);
  if (config.window > 0 && config.d_memory > 0) {
    throw InvalidArgument(fmt::format(
        "shape: window is {} with d_memory; the tokens of a second input have no position beside "
        "those of x, so set window to 0",
        config.window));
  }
  check_chunk(config);
  check_latent(config);
  check_rotary(config);
  check_norm(config);
  check_positive_or_none("clip", config.clip);
  check_positive_or_none("scale", config.scale);
  check_positive_or_none("softcap", config.softcap);
  check_position_bias(config);
  check_temperature(config);
  check_gate(config);
  check_size("d_memory", config.d_memory, 0);
  if (config.d_memory > 0 && config.causal) {
    throw InvalidArgument(
        "shape: causal and d_memory exclude each other: no token of a second input comes after one "
        "of x; set causal to false");
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) {  // written so that NaN fails too
    throw InvalidArgument(
        fmt::format("shape: dropout is {}; allowed is 0 <= dropout < 1, and 0 keeps every weight",
                    config.dropout));
  }
  check_product("d_in * 3 * d_out", {config.d_in, 3, config.d_out});
  check_product("d_out * d_proj", {config.d_out, config.d_proj});
  check_product("d_in * heads * value_dim", {config.d_in, config.heads, config.value_dim});
  check_product("heads * value_dim * d_proj", {config.heads, config.value_dim, config.d_proj});
  check_product("d_memory * heads * value_dim", {config.d_memory, config.heads, config.value_dim});
  check_product("d_memory * 2 * d_out", {config.d_memory, 2, config.d_out});
}

std::string options_in_id(const LayerConfig& config, const std::string& memory) {
  const bool projects = config.d_in > 0;
  std::string id;
  if (!projects) id += "_qkv";
  if (projects && config.d_in != config.d_out) id += fmt::format("_in{}", config.d_in);
  if (!config.causal) id += "_nomask";
  if (config.qkv_bias) id += "_bias";
  if (projects && config.d_proj == 0) id += "_noproj";
  if (config.d_proj != 0 && config.d_proj != config.d_out) {
    id += fmt::format("_proj{}", config.d_proj);
  }
  if (config.dropout != 0) id += fmt::format("_drop{}", config.dropout);
  if (config.key_heads() != config.heads) id += fmt::format("_K{}", config.kv_heads);
  if (config.head_value_dim() != config.head_dim()) {
    id += fmt::format("_v{}", config.head_value_dim());
  }
  if (config.window > 0) id += fmt::format("_W{}", config.window);
  if (config.chunk > 0) id += fmt::format("_chunk{}", config.chunk);
  if (config.rotary.pairs != Rotary::Pairs::none) id += rotary_id(config.rotary);
  if (config.clip > 0) id += fmt::format("_clip{}", config.clip);
  id += norm_id(config.norm);
  if (config.scale > 0) id += fmt::format("_scale{:.9g}", config.scale);
  if (config.softcap > 0) id += fmt::format("_cap{}", config.softcap);
  if (config.sinks) id += "_sinks";
  if (config.position_bias.kind == PositionBias::Kind::slopes) id += "_alibi";
  if (config.position_bias.kind == PositionBias::Kind::buckets) {
    id += fmt::format("_buckets{}-{}", config.position_bias.buckets, config.position_bias.farthest);
  }
  if (config.temperature.step > 0) {
    id += fmt::format("_temp{}x{}", config.temperature.step, config.temperature.scale);
  }
  if (config.gate) id += "_gate";
  id += latent_id(config.latent);
  if (!memory.empty()) id += "_" + memory;
  return id;
}

double LayerConfig::score_scale() const {
  return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(head_dim()));
}

void LayerConfig::validate() const {
  check_size("d_in", d_in, 1);
  check_widths(*this);
}

std::string LayerConfig::id() const {
  return fmt::format("D{}_H{}", d_out, heads) +
         options_in_id(*this, d_memory > 0 ? fmt::format("M{}", d_memory) : "");
}

}  // namespace headroom
