// A layer's fields, as C and as C++ name them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "c_api/structs.hpp"

namespace headroom::c_api {
namespace {

/// One value of an enumeration, which C numbers.
template <class Enum>
struct Numbered {
  Enum value;
  std::string_view name;
};

// Each at the place of its number in C.
constexpr Numbered<Rotary::Pairs> kPairs[] = {{Rotary::Pairs::none, "none"},
                                              {Rotary::Pairs::neighbours, "neighbours"},
                                              {Rotary::Pairs::halves, "halves"}};
static_assert(HEADROOM_ROTARY_NONE == 0 && HEADROOM_ROTARY_NEIGHBOURS == 1 &&
              HEADROOM_ROTARY_HALVES == 2);
constexpr Numbered<QueryKeyNorm::Over> kNorms[] = {{QueryKeyNorm::Over::none, "none"},
                                                   {QueryKeyNorm::Over::head, "head"},
                                                   {QueryKeyNorm::Over::width, "width"}};
static_assert(HEADROOM_NORM_NONE == 0 && HEADROOM_NORM_HEAD == 1 && HEADROOM_NORM_WIDTH == 2);
constexpr Numbered<PositionBias::Kind> kBiases[] = {{PositionBias::Kind::none, "none"},
                                                    {PositionBias::Kind::slopes, "slopes"},
                                                    {PositionBias::Kind::buckets, "buckets"}};
static_assert(HEADROOM_POSITION_BIAS_NONE == 0 && HEADROOM_POSITION_BIAS_SLOPES == 1 &&
              HEADROOM_POSITION_BIAS_BUCKETS == 2);

template <class Enum, std::size_t N>
Enum chosen(std::string_view field, std::int32_t number, const Numbered<Enum> (&choices)[N]) {
  if (number >= 0 && number < static_cast<std::int32_t>(N)) return choices[number].value;
  std::string allowed;
  for (std::size_t i = 0; i < N; ++i) {
    allowed += fmt::format("{}{} ({})",
                           i == 0      ? ""
                           : i + 1 < N ? ", "
                                       : " and ",
                           i, choices[i].name);
  }
  throw InvalidArgument(
      fmt::format("headroom_create: config.{} is {}; allowed are {}", field, number, allowed));
}

template <class Enum, std::size_t N>
std::int32_t number_of(Enum value, const Numbered<Enum> (&choices)[N]) {
  std::int32_t number = 0;
  while (choices[number].value != value) ++number;
  return number;
}

std::vector<double> divisors_of(std::string_view name, const double* divisors, std::int64_t count) {
  const std::string count_name = fmt::format("config.{}_count", name);
  check_count({"headroom_create", count_name}, count);
  if (count > 0 && divisors == nullptr) {
    throw InvalidArgument(
        fmt::format("headroom_create: config.{0}s is NULL, and {0}_count is {1}; give so many "
                    "divisors, or none",
                    name, count));
  }
  return {divisors, divisors + count};
}

Rotary rotary_of(const headroom_layer_config& config) {
  return {
      .pairs = chosen("rotary_pairs", config.rotary_pairs, kPairs),
      .base = config.rotary_base,
      .scale = config.rotary_scale,
      .width = config.rotary_width,
      .divisors =
          divisors_of("rotary_divisor", config.rotary_divisors, config.rotary_divisor_count),
      .amplitude = config.rotary_amplitude,
      .sections = {config.rotary_sections[0], config.rotary_sections[1], config.rotary_sections[2]},
      .interleaved = config.rotary_interleaved != 0,
      .context = config.rotary_context,
      .long_divisors = divisors_of("rotary_long_divisor", config.rotary_long_divisors,
                                   config.rotary_long_divisor_count),
      .growth = config.rotary_growth};
}

}  // namespace

LayerConfig layer_config_of(const headroom_layer_config& config) {
  return {.d_in = config.d_in,
          .d_out = config.d_out,
          .heads = config.heads,
          .causal = config.causal != 0,
          .qkv_bias = config.qkv_bias != 0,
          .d_proj = config.d_proj,
          .dropout = config.dropout,
          .dropout_seed = config.dropout_seed,
          .kv_heads = config.kv_heads,
          .value_dim = config.value_dim,
          .window = config.window,
          .chunk = config.chunk,
          .clip = config.clip,
          .rotary = rotary_of(config),
          .norm = {.over = chosen("norm", config.norm, kNorms),
                   .weighted = config.norm_weighted != 0,
                   .after_rotary = config.norm_after_rotary != 0,
                   .epsilon = config.norm_epsilon},
          .scale = config.scale,
          .softcap = config.softcap,
          .sinks = config.sinks != 0,
          .position_bias = {.kind = chosen("position_bias", config.position_bias, kBiases),
                            .buckets = config.position_bias_buckets,
                            .farthest = config.position_bias_farthest},
          .temperature = {.step = config.temperature_step, .scale = config.temperature_scale},
          .gate = config.gate != 0,
          .latent = {.rank = config.latent_rank,
                     .query_rank = config.latent_query_rank,
                     .shared = config.latent_shared,
                     .epsilon = config.latent_epsilon},
          .d_memory = config.d_memory};
}

headroom_layer_config c_config_of(const LayerConfig& from) {
  return {.size = sizeof(headroom_layer_config),
          .d_in = from.d_in,
          .d_out = from.d_out,
          .heads = from.heads,
          .d_proj = from.d_proj,
          .causal = from.causal ? 1 : 0,
          .qkv_bias = from.qkv_bias ? 1 : 0,
          .dropout = from.dropout,
          .dropout_seed = from.dropout_seed,
          .kv_heads = from.kv_heads,
          .window = from.window,
          .rotary_pairs = number_of(from.rotary.pairs, kPairs),
          .rotary_base = from.rotary.base,
          .rotary_scale = from.rotary.scale,
          .d_memory = from.d_memory,
          .rotary_width = from.rotary.width,
          .rotary_divisors = from.rotary.divisors.empty() ? nullptr : from.rotary.divisors.data(),
          .rotary_divisor_count = static_cast<std::int64_t>(from.rotary.divisors.size()),
          .rotary_amplitude = from.rotary.amplitude,
          .norm = number_of(from.norm.over, kNorms),
          .norm_weighted = from.norm.weighted ? 1 : 0,
          .norm_after_rotary = from.norm.after_rotary ? 1 : 0,
          .norm_epsilon = from.norm.epsilon,
          .scale = from.scale,
          .softcap = from.softcap,
          .sinks = from.sinks ? 1 : 0,
          .gate = from.gate ? 1 : 0,
          .chunk = from.chunk,
          .clip = from.clip,
          .position_bias = number_of(from.position_bias.kind, kBiases),
          .position_bias_buckets = from.position_bias.buckets,
          .position_bias_farthest = from.position_bias.farthest,
          .temperature_step = from.temperature.step,
          .temperature_scale = from.temperature.scale,
          .value_dim = from.value_dim,
          .latent_rank = from.latent.rank,
          .latent_query_rank = from.latent.query_rank,
          .latent_shared = from.latent.shared,
          .latent_epsilon = from.latent.epsilon,
          .rotary_sections = {from.rotary.sections[0], from.rotary.sections[1],
                              from.rotary.sections[2]},
          .rotary_interleaved = from.rotary.interleaved ? 1 : 0,
          .rotary_context = from.rotary.context,
          .rotary_long_divisors =
              from.rotary.long_divisors.empty() ? nullptr : from.rotary.long_divisors.data(),
          .rotary_long_divisor_count = static_cast<std::int64_t>(from.rotary.long_divisors.size()),
          .rotary_growth = from.rotary.growth};
}

}  // namespace headroom::c_api
