#include "weights/layer/rope_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headroom::weights {
namespace {

double required(const ScalingFields& fields, std::string_view name) {
  const std::optional<double> value = fields.number(name);
  if (!value) fields.require(name, "a number above 0");
  return value.value_or(1);
}

std::int64_t whole(const ScalingFields& fields, std::string_view name, double context) {
  // Far beyond any, and what a double still counts.
  if (context != std::floor(context) || context > 1e15) fields.require(name, "a whole number");
  return static_cast<std::int64_t>(context);
}

// Angle per position of pair `i`, before any scaling.
double frequency(const Rotary& rotary, std::int64_t width, std::int64_t i) {
  return std::pow(rotary.base, -2 * static_cast<double>(i) / static_cast<double>(width));
}

template <class Divisor>
void set_divisors(std::int64_t width, Rotary& rotary, const Divisor& divisor) {
  rotary.divisors.clear();
  for (std::int64_t i = 0; i < width / 2; ++i) rotary.divisors.push_back(divisor(i));
}

// Long wavelengths are stretched by the factor, short ones stay, and between both it is blended.
void scale_llama3(const ScalingFields& fields, const Contexts& contexts, std::int64_t width,
                  Rotary& rotary) {
  const double factor = required(fields, "factor");
  const double low = required(fields, "low_freq_factor");
  const double high = required(fields, "high_freq_factor");
  const double original =
      contexts.original ? *contexts.original : required(fields, "original_max_position_embeddings");
  set_divisors(width, rotary, [&](std::int64_t i) {
    const double wavelength = 2 * std::numbers::pi / frequency(rotary, width, i);
    if (wavelength > original / low) return factor;
    if (wavelength < original / high || high <= low) return 1.0;
    const double kept = (original / wavelength - low) / (high - low);
    return 1 / ((1 - kept) / factor + kept);
  });
}

// The factor on cosines and sines, so that scores grow with the logarithm of the stretch.
double yarn_amplitude(const ScalingFields& fields, double factor) {
  if (const auto given = fields.number("attention_factor")) return *given;
  const auto multiplier = fields.number("mscale");
  const auto of_all = fields.number("mscale_all_dim");
  if (!multiplier || !of_all) return yarn_growth(factor, 1);
  return yarn_growth(factor, *multiplier) / yarn_growth(factor, *of_all);
}

void scale_yarn(const ScalingFields& fields, const Contexts& contexts, std::int64_t width,
                Rotary& rotary) {
  std::optional<double> given = fields.number("factor");
  const std::optional<double> context = contexts.original ? contexts.original : contexts.longest;
  if (!given && contexts.original && contexts.longest) {
    given = *contexts.longest / *contexts.original;
  }
  if (!given) given = required(fields, "factor");
  if (!context) fields.require("original_max_position_embeddings", "a number above 0");
  const double factor = *given;
  const auto wide = static_cast<double>(width);
  // The pair that turns so often within the original context.
  const auto pair_of = [&](double turns) {
    return wide * std::log(context.value_or(1) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rotary.base));
  };
  double low = pair_of(fields.number("beta_fast").value_or(32));
  double high = pair_of(fields.number("beta_slow").value_or(1));
  if (!fields.is_false("truncate")) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, wide - 1);
  if (low == high) high += 0.001;  // as the definition has it
  set_divisors(width, rotary, [&](std::int64_t i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    return 1 / (stretched / factor + (1 - stretched));
  });
  rotary.amplitude = yarn_amplitude(fields, factor);
}

std::vector<double> factors_of(const ScalingFields& fields, std::string_view name,
                               std::int64_t width) {
  std::vector<double> factors = fields.numbers(name);
  if (static_cast<std::int64_t>(factors.size()) != width / 2) {
    fields.require(name, "a list with a number for each pair of a head");
  }
  return factors;
}

// Two divisors for each pair: of contexts up to the original one, and of longer ones.
void scale_longrope(const ScalingFields& fields, const Contexts& contexts, std::int64_t width,
                    Rotary& rotary) {
  const double original =
      contexts.original ? *contexts.original : required(fields, "original_max_position_embeddings");
  const double longest = contexts.longest.value_or(original);
  rotary.divisors = factors_of(fields, "short_factor", width);
  rotary.long_divisors = factors_of(fields, "long_factor", width);
  rotary.context = whole(fields, "original_max_position_embeddings", original);
  const double factor = fields.number("factor").value_or(longest / original);
  const double grown = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  rotary.amplitude = fields.number("attention_factor").value_or(grown);
}

void scale_dynamic(const ScalingFields& fields, const Contexts& contexts, std::int64_t width,
                   Rotary& rotary) {
  rotary.growth = required(fields, "factor");
  if (rotary.growth < 1) fields.require("factor", "a number of 1 or more");
  if (width < 4) fields.require("type", "dynamic where two pairs of a head turn, or more");
  if (!contexts.longest) fields.require("max_position_embeddings", "a whole number");
  rotary.context = whole(fields, "max_position_embeddings", contexts.longest.value_or(1));
}

}  // namespace

double yarn_growth(double factor, double multiplier) {
  return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1;
}

bool scale_rotary(std::string_view type, const ScalingFields& fields, const Contexts& contexts,
                  std::int64_t width, Rotary& rotary) {
  if (type == "default") return true;
  if (type == "linear") {
    rotary.scale = 1 / required(fields, "factor");
  } else if (type == "llama3") {
    scale_llama3(fields, contexts, width, rotary);
  } else if (type == "yarn") {
    scale_yarn(fields, contexts, width, rotary);
  } else if (type == "longrope") {
    scale_longrope(fields, contexts, width, rotary);
  } else if (type == "dynamic") {
    scale_dynamic(fields, contexts, width, rotary);
  } else {
    return false;
  }
  return true;
}

}  // namespace headroom::weights
