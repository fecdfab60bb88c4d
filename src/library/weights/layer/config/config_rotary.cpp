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
  const json* parameters = fields.find("rope_parameters");
  if (parameters == nullptr) return nullptr;
  if (!parameters->is_object()) fields.fail("rope_parameters", "an object");
  const json* of_kind =
      ConfigFields::find_in(*parameters, reading.slides ? "sliding_attention" : "full_attention");
  if (of_kind == nullptr) return parameters;
  if (!of_kind->is_object()) fields.fail("rope_parameters", "an object");
  return of_kind;
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
  if (part == nullptr) part = fields.find("partial_rotary_factor");
  if (part == nullptr) part = fields.find("rotary_pct");
  const double share =
      part != nullptr ? fields.positive(*part, "partial_rotary_factor") : reading.family.partial;
  if (share > 1) fields.fail("partial_rotary_factor", "a number up to 1");
  std::optional<std::int64_t> head_dim = config.head_dim;
  if (!head_dim && config.width && config.heads) head_dim = *config.width / *config.heads;
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
  if (!reading.config.family.empty() && reading.family.name.empty()) {
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

// Far wider than any head: a scaling has a divisor for each pair, so a width that is only claimed
// must not ask for gigabytes.
constexpr std::int64_t kWidest = std::int64_t{1} << 16;

void read_scaling(const ConfigReading& reading, const json& scaling, std::int64_t width) {
  const ConfigFields& fields = reading.fields;
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
  if (!scale_rotary(name, scaling_fields(fields, scaling), contexts(fields, scaling), width,
                    reading.rules().rotary)) {
    reading.add_foreign("rope_scaling", *type);
  }
}

}  // namespace

// Published files may have an empty list, which stands for the family's own rule.
bool has_no_rotary(const ConfigReading& reading) {
  const json* turns = reading.fields.of_layer("no_rope_layers");  // 1 where it has them
  if (turns != nullptr) return *turns == 0;
  const std::int64_t every =
      reading.fields.whole({"no_rope_layer_interval"}).value_or(reading.family.no_rotary_every);
  return every > 0 && (reading.fields.layer().value_or(0) + 1) % every == 0;
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
  if (has_no_rotary(reading)) {
    reading.config.turns = false;
    if (rules.norm.after_rotary) rules.norm = {};
    return read_temperature(reading);
  }
  const json* parameters = rope_parameters(reading);
  const json* base =
      parameters != nullptr ? ConfigFields::find_in(*parameters, "rope_theta") : nullptr;
  const json* of_kind = base == nullptr ? base_of_kind(reading) : nullptr;
  if (base == nullptr) base = of_kind != nullptr ? of_kind : fields.find("rope_theta");
  if (base != nullptr) {
    rules.rotary.base = fields.positive(*base, "rope_theta");
    reading.config.turns = true;
  }
  if (reading.family.pairs) rules.rotary.pairs = *reading.family.pairs;
  const std::int64_t width = read_part(reading, parameters);
  // A local base has no scaling beside it.
  if (of_kind != nullptr && reading.slides) return;
  if (const json* scaling = find_rope_scaling(reading)) read_scaling(reading, *scaling, width);
}

}  // namespace headroom::weights
