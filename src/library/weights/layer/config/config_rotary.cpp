#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "weights/layer/config/config_parts.hpp"
#include "weights/layer/rope_scaling.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr double kUsualStep = 8192;  // of Llama 4, as is the next
constexpr double kUsualGrowth = 0.1;

// Newer files have one object for what older ones have in two fields, or one for each kind of
// layer.
const json* rope_parameters(const ConfigReading& reading) {
  const ConfigFields& fields = reading.fields;
  const json* parameters = fields.given("rope_parameters");
  if (parameters == nullptr && fields.given("rope_scaling") == nullptr) {
    parameters = fields.find("rope_parameters");
  }
  if (parameters == nullptr) return nullptr;
  if (!parameters->is_object()) fields.fail("rope_parameters", "an object");
  const json* of_kind =
      ConfigFields::find_in(*parameters, reading.slides ? "sliding_attention" : "full_attention");
  if (of_kind == nullptr) return parameters;
  if (!of_kind->is_object()) fields.fail("rope_parameters", "an object");
  return of_kind;
}

// Whose older files have names of their own, which no other class looks at.
bool is_gpt_neox(const ConfigReading& reading) {
  return !reading.config.known || reading.config.family == "gpt_neox";
}

// Of older files whose kinds of layers have each its own.
const json* base_of_kind(const ConfigReading& reading) {
  if (!reading.slides) return reading.fields.find("global_rope_theta");
  const json* base = reading.fields.find("rope_local_base_freq");
  return base != nullptr ? base : reading.fields.find("local_rope_theta");
}

// Llama 4: queries of layers without positions grow with the logarithm of theirs.
void read_temperature(const ConfigReading& reading) {
  const json* tuned = reading.fields.find("attn_temperature_tuning");
  if (tuned == nullptr || *tuned == false || *tuned == 0) return;
  Temperature& temperature = reading.rules().temperature;
  temperature.step = reading.fields.number("floor_scale").value_or(kUsualStep);
  temperature.scale = reading.fields.number("attn_scale").value_or(kUsualGrowth);
}

// @return values of a head that turn; 0 if the width of a head is not known
std::int64_t read_part(const ConfigReading& reading, const json* parameters) {
  const ConfigFields& fields = reading.fields;
  const ModelConfig& config = reading.config;
  const json* part =
      parameters != nullptr ? ConfigFields::find_in(*parameters, "partial_rotary_factor") : nullptr;
  if (part == nullptr) part = fields.given("partial_rotary_factor");
  if (part == nullptr && is_gpt_neox(reading)) part = fields.given("rotary_pct");
  if (part == nullptr) part = fields.find("partial_rotary_factor");
  if (part != nullptr && *part != 1 && !fields.belongs("partial_rotary_factor")) {
    reading.add_foreign("partial_rotary_factor", *part);
    part = nullptr;
  }
  double share = part != nullptr ? fields.positive(*part, "partial_rotary_factor") : 1;
  const std::optional<std::int64_t> head_dim = config.head_width();
  if (config.family == "minimax_m2" && head_dim) {
    const auto turned = fields.whole({"rotary_dim"});
    if (turned) share = static_cast<double>(*turned) / static_cast<double>(*head_dim);
  }
  if (share > 1) fields.fail("partial_rotary_factor", "a number up to 1");
  if (!head_dim) {
    if (share < 1) fields.fail("head_dim", "there, which partial_rotary_factor is a part of");
    return 0;
  }
  const auto turned = static_cast<std::int64_t>(share * static_cast<double>(*head_dim));
  if (turned < 2) {
    fields.fail("partial_rotary_factor", "a part of a head with two values or more");
  }
  if (turned < *head_dim) reading.rules().rotary.width = turned;
  return turned;
}

// Refers to both.
ScalingFields scaling_fields(const ConfigFields& fields, const json& scaling) {
  const auto number = [&](std::string_view name) -> std::optional<double> {
    const json* value = ConfigFields::find_in(scaling, name);
    if (value == nullptr) return std::nullopt;
    return fields.positive(*value, fmt::format("rope_scaling.{}", name));
  };
  const auto numbers = [&](std::string_view name) {
    std::vector<double> all;
    const json* list = ConfigFields::find_in(scaling, name);
    if (list == nullptr) return all;
    const std::string full = fmt::format("rope_scaling.{}", name);
    if (!list->is_array()) fields.fail(full, "a list");
    for (const json& value : *list) all.push_back(fields.positive(value, full));
    return all;
  };
  const auto is_false = [&](std::string_view name) {
    const json* value = ConfigFields::find_in(scaling, name);
    return value != nullptr && *value == false;
  };
  const auto require = [&](std::string_view name, std::string_view what) {
    fields.fail(fmt::format("rope_scaling.{}", name), what);
  };
  return {number, numbers, is_false, require};
}

Contexts contexts(const ConfigFields& fields, const json& scaling) {
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const json* original = ConfigFields::find_in(scaling, kOriginal);
  if (original == nullptr) original = fields.find(kOriginal);
  return {
      fields.number("max_position_embeddings"),
      original != nullptr ? std::optional(fields.positive(*original, kOriginal)) : std::nullopt};
}

// Ernie 4.5 has widths and heights before times, GLM-4V other pairs: sections have no order of
// their own.
void read_sections(const ConfigReading& reading, const json& scaling, std::int64_t width) {
  constexpr std::string_view kName = "mrope_section";
  const json* found = ConfigFields::find_in(scaling, kName);
  if (found == nullptr) return;
  if (!reading.config.family.empty() && !reading.config.known) {
    reading.add_foreign(kName, *found);
    return;
  }
  const ScalingFields fields = scaling_fields(reading.fields, scaling);
  const std::vector<double> sections = fields.numbers(kName);
  if (sections.empty()) return;
  Rotary& rotary = reading.rules().rotary;
  double sum = 0;
  bool fit = sections.size() == rotary.sections.size();
  for (const double pairs : sections) {
    fit = fit && pairs == std::floor(pairs) && pairs < 1e9;
    sum += pairs;
  }
  if (!fit || (width > 0 && 2 * sum != static_cast<double>(width))) {
    fields.require(kName, "three whole numbers that add up to the pairs of a head");
  }
  std::transform(sections.begin(), sections.end(), rotary.sections.begin(),
                 [](double pairs) { return static_cast<std::int64_t>(pairs); });
  const json* turns = ConfigFields::find_in(scaling, "mrope_interleaved");
  rotary.interleaved = reading.family.interleaved || (turns != nullptr && *turns == true);
}

// Those that a scaling may have, whatever its type. Some types' own are added to them.
constexpr std::string_view kScalingFields[] = {"rope_type",
                                               "type",
                                               "rope_theta",
                                               "partial_rotary_factor",
                                               "factor",
                                               "attention_factor",
                                               "low_freq_factor",
                                               "high_freq_factor",
                                               "original_max_position_embeddings",
                                               "beta_fast",
                                               "beta_slow",
                                               "mscale",
                                               "mscale_all_dim",
                                               "truncate",
                                               "short_factor",
                                               "long_factor",
                                               "mrope_section",
                                               "mrope_interleaved",
                                               "finetuned"};

void refuse_other_fields(const ConfigReading& reading, const json& scaling) {
  const std::string& family = reading.config.family;
  const auto is_known = [&](std::string_view name) {
    if (name == "alpha") return family.starts_with("hunyuan_v1");
    if (name == "short_mscale" || name == "long_mscale") return family == "phimoe";
    return std::find(std::begin(kScalingFields), std::end(kScalingFields), name) !=
           std::end(kScalingFields);
  };
  for (const auto& [name, value] : scaling.items()) {
    if (!value.is_null() && !is_known(name)) reading.add_foreign("rope_scaling." + name, value);
  }
}

// HunYuan's files call it dynamic, but the base is larger in all contexts ("NTK-aware" scaling).
bool read_alpha(const ConfigReading& reading, const json& scaling, std::int64_t width) {
  const json* alpha = ConfigFields::find_in(scaling, "alpha");
  if (alpha == nullptr || !reading.config.family.starts_with("hunyuan_v1")) return false;
  const double wide = static_cast<double>(width);
  if (width < 4) reading.fields.fail("head_dim", "4 or more where rope_scaling has an alpha");
  reading.rules().rotary.base *=
      std::pow(reading.fields.positive(*alpha, "rope_scaling.alpha"), wide / (wide - 2));
  return true;
}

// Phi-3.5-MoE's factors on cosines and sines are its files' own, and may differ in long contexts.
void read_phimoe_amplitude(const ConfigReading& reading, const json& scaling) {
  const json* near = ConfigFields::find_in(scaling, "short_mscale");
  const json* far = ConfigFields::find_in(scaling, "long_mscale");
  if (near == nullptr || far == nullptr) {
    reading.fields.fail("rope_scaling.short_mscale", "there with long_mscale, which phimoe needs");
  }
  if (*near != *far) return reading.add_foreign("rope_scaling.long_mscale", *far);
  reading.rules().rotary.amplitude = reading.fields.positive(*near, "rope_scaling.short_mscale");
}

// Far wider than any head: a scaling has a divisor for each pair, so a width that is only claimed
// must not ask for gigabytes.
constexpr std::int64_t kWidest = std::int64_t{1} << 16;

void read_scaling(const ConfigReading& reading, const json& scaling, std::int64_t width) {
  const ConfigFields& fields = reading.fields;
  refuse_other_fields(reading, scaling);
  read_sections(reading, scaling, width);
  const json* type = find_scaling_type(scaling);
  if (type == nullptr) return;
  if (!type->is_string()) fields.fail("rope_scaling.type", "text");
  std::string name = type->get<std::string>();
  // What files of Phi-3 call its scaling.
  if (reading.config.family == "phi3" && (name == "su" || name == "yarn")) name = "longrope";
  if (name == "default" || name == "mrope") return;  // Qwen2-VL's name of its sections
  if (width == 0 && name != "linear") fields.fail("head_dim", "there, which rope_scaling needs");
  if (width > kWidest) {
    fields.fail("head_dim", fmt::format("at most {} where rope_scaling has divisors", kWidest));
  }
  if (name == "dynamic" && read_alpha(reading, scaling, width)) return;
  if (!scale_rotary(name, scaling_fields(fields, scaling), contexts(fields, scaling), width,
                    reading.rules().rotary)) {
    reading.add_foreign("rope_scaling", *type);
  }
  if (reading.config.family == "phimoe") read_phimoe_amplitude(reading, scaling);
}

}  // namespace

// Published files may have an empty list, which stands for the family's own rule.
bool has_no_rotary(const ConfigReading& reading) {
  if (reading.family.rotary == FamilyRotary::windows) return !reading.slides;
  if (reading.family.rotary == FamilyRotary::windows_if_any) {
    return reading.has_windows && !reading.slides;
  }
  if (!reading.fields.belongs("no_rope_layers")) return false;
  const json* turns = reading.fields.of_layer("no_rope_layers");  // 1 where it has them
  const std::int64_t every = reading.fields.whole({"no_rope_layer_interval"}).value_or(0);
  if (turns != nullptr) return *turns == 0;
  return every > 0 && (reading.fields.layer().number.value_or(0) + 1) % every == 0;
}

const json* find_rope_scaling(const ConfigReading& reading) {
  if (const json* parameters = rope_parameters(reading)) return parameters;
  const json* scaling = reading.fields.find("rope_scaling");
  if (scaling != nullptr && !scaling->is_object()) {
    reading.fields.fail("rope_scaling", "an object");
  }
  return scaling;
}

const json* find_scaling_type(const json& scaling) {
  const json* type = ConfigFields::find_in(scaling, "rope_type");
  return type != nullptr ? type : ConfigFields::find_in(scaling, "type");
}

void read_rotary(ConfigReading& reading) {
  const ConfigFields& fields = reading.fields;
  LayerConfig& rules = reading.rules();
  if (reading.config.known && reading.family.rotary == FamilyRotary::none) return;
  // Some say nothing of this layer.
  fields.pass_over({"rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq",
                    "global_rope_theta", "local_rope_theta", "partial_rotary_factor"});
  if (has_no_rotary(reading)) {
    reading.config.turns = false;
    if (rules.norm.after_rotary) rules.norm = {};
    return read_temperature(reading);
  }
  const json* parameters = rope_parameters(reading);
  const json* base =
      parameters != nullptr ? ConfigFields::find_in(*parameters, "rope_theta") : nullptr;
  const json* of_kind = base == nullptr ? base_of_kind(reading) : nullptr;
  if (base == nullptr) base = of_kind;
  if (base == nullptr) base = fields.given("rope_theta");
  if (base == nullptr && is_gpt_neox(reading)) base = fields.given("rotary_emb_base");
  if (base == nullptr) base = fields.find("rope_theta");
  if (base != nullptr) {
    rules.rotary.base = fields.positive(*base, "rope_theta");
    reading.config.turns = true;
  }
  if (reading.family.pairs) rules.rotary.pairs = *reading.family.pairs;
  const std::int64_t width = read_part(reading, parameters);
  // Layers with windows have no scaling there, unless they have one of their own.
  const bool own_kind = parameters != nullptr && parameters != fields.find("rope_parameters");
  const bool scales =
      !reading.slides || own_kind || !(reading.family.full_scales || of_kind != nullptr);
  const json* scaling = find_rope_scaling(reading);
  if (scaling != nullptr && scales) read_scaling(reading, *scaling, width);
}

}  // namespace headroom::weights
