#include "json/shape_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/text/names.hpp"

namespace headroom {
namespace {

using Pairs = Rotary::Pairs;

constexpr Name<Pairs> kPairs[] = {
    {Pairs::none, "none"}, {Pairs::neighbours, "neighbours"}, {Pairs::halves, "halves"}};

void add_rotary(const Rotary& rotary, nlohmann::ordered_json& json) {
  if (rotary.pairs == Pairs::none) return;
  json["rotary"] = {
      {"pairs", to_string(rotary.pairs)}, {"base", rotary.base}, {"scale", rotary.scale}};
  if (rotary.width > 0) json["rotary"]["width"] = rotary.width;
  if (!rotary.divisors.empty()) json["rotary"]["divisors"] = rotary.divisors;
  if (rotary.amplitude != 1) json["rotary"]["amplitude"] = rotary.amplitude;
  if (rotary.has_sections()) {
    json["rotary"]["sections"] = rotary.sections;
    json["rotary"]["interleaved"] = rotary.interleaved;
  }
  if (rotary.context > 0) json["rotary"]["context"] = rotary.context;
  if (!rotary.long_divisors.empty()) json["rotary"]["long_divisors"] = rotary.long_divisors;
  if (rotary.growth > 0) json["rotary"]["growth"] = rotary.growth;
}

using Over = QueryKeyNorm::Over;

constexpr Name<Over> kOver[] = {{Over::none, "none"}, {Over::head, "head"}, {Over::width, "width"}};

void add_norm(const QueryKeyNorm& norm, nlohmann::ordered_json& json) {
  if (norm.over == Over::none) return;
  json["norm"] = {{"over", to_string(norm.over)},
                  {"weighted", norm.weighted},
                  {"after_rotary", norm.after_rotary},
                  {"epsilon", norm.epsilon}};
}

QueryKeyNorm read_norm(const JsonFields& fields) {
  QueryKeyNorm norm;
  const std::optional<Over> over = parse_over(fields.text("over"));
  if (!over || *over == Over::none) fields.fail("over", "head or width");
  norm.over = *over;
  norm.weighted = fields.flag("weighted");
  norm.after_rotary = fields.flag("after_rotary");
  norm.epsilon = fields.positive("epsilon");
  return norm;
}

Rotary read_rotary(const JsonFields& fields) {
  Rotary rotary;
  const std::string name = fields.text("pairs");
  const std::optional<Pairs> pairs = parse_pairs(name);
  if (!pairs || *pairs == Pairs::none) fields.fail("pairs", "neighbours or halves");
  rotary.pairs = *pairs;
  rotary.base = fields.positive("base");
  rotary.scale = fields.positive("scale");
  if (fields.has("width")) rotary.width = fields.whole("width", 1);
  if (fields.has("divisors")) rotary.divisors = fields.positives("divisors");
  if (fields.has("amplitude")) rotary.amplitude = fields.positive("amplitude");
  if (fields.has("sections")) {
    const std::vector<std::int64_t> sections =
        fields.wholes("sections", 0, std::numeric_limits<std::int64_t>::max());
    if (sections.size() != rotary.sections.size()) fields.fail("sections", "three numbers");
    std::copy(sections.begin(), sections.end(), rotary.sections.begin());
    rotary.interleaved = fields.flag("interleaved");
  }
  if (fields.has("context")) rotary.context = fields.whole("context", 1);
  if (fields.has("long_divisors")) rotary.long_divisors = fields.positives("long_divisors");
  if (fields.has("growth")) rotary.growth = fields.positive("growth");
  return rotary;
}

using Kind = PositionBias::Kind;

constexpr Name<Kind> kKinds[] = {
    {Kind::none, "none"}, {Kind::slopes, "slopes"}, {Kind::buckets, "buckets"}};

void add_positions(const Case& shape, nlohmann::ordered_json& json) {
  if (shape.position_bias.kind != Kind::none) {
    json["position_bias"] = {{"kind", name_of(kKinds, shape.position_bias.kind)},
                             {"buckets", shape.position_bias.buckets},
                             {"farthest", shape.position_bias.farthest}};
  }
  if (shape.temperature.step > 0) {
    json["temperature"] = {{"step", shape.temperature.step}, {"scale", shape.temperature.scale}};
  }
}

void add_latent(const Latent& latent, nlohmann::ordered_json& json) {
  if (latent.rank == 0) return;
  json["latent"] = {{"rank", latent.rank},
                    {"query_rank", latent.query_rank},
                    {"shared", latent.shared},
                    {"epsilon", latent.epsilon}};
}

Latent read_latent(const JsonFields& fields) {
  return {fields.whole("rank", 1), fields.whole("query_rank", 0), fields.whole("shared", 0),
          fields.positive("epsilon")};
}

PositionBias read_position_bias(const JsonFields& fields) {
  PositionBias bias;
  const std::optional<Kind> kind = value_of(kKinds, fields.text("kind"));
  if (!kind || *kind == Kind::none) fields.fail("kind", "slopes or buckets");
  bias.kind = *kind;
  bias.buckets = fields.whole("buckets", 0);
  bias.farthest = fields.whole("farthest", 0);
  return bias;
}

Temperature read_temperature(const JsonFields& fields) {
  return {fields.positive("step"), fields.positive("scale")};
}

constexpr ShapeField kFields[] = {
    {"window", &Case::window},       {"d_memory", &Case::d_memory},
    {"past", &Case::past},           {"memory_tokens", &Case::memory_tokens},
    {"chunk", &Case::chunk},         {"clip", &Case::clip},
    {"scale", &Case::scale},         {"softcap", &Case::softcap},
    {"sinks", &Case::sinks},         {"gate", &Case::gate},
    {"value_dim", &Case::value_dim}, {"outliers", &Case::outliers}};

void read_member(const JsonFields& fields, const char* key, std::int64_t& value) {
  value = fields.whole(key, 0);
}
void read_member(const JsonFields& fields, const char* key, double& value) {
  value = fields.not_negative(key);
}
void read_member(const JsonFields& fields, const char* key, bool& value) {
  value = fields.flag(key);
}

// What a line does not have keeps its default.
void read_fields(const JsonFields& fields, Case& shape) {
  if (fields.has("kv_heads")) shape.kv_heads = fields.whole("kv_heads", 0);
  for (const ShapeField& field : kFields) {
    if (!fields.has(field.name)) continue;
    std::visit([&](auto member) { read_member(fields, field.name, shape.*member); }, field.member);
  }
  if (fields.has("rotary")) shape.rotary = read_rotary(fields.object("rotary"));
  if (fields.has("norm")) shape.norm = read_norm(fields.object("norm"));
  if (fields.has("position_bias")) {
    shape.position_bias = read_position_bias(fields.object("position_bias"));
  }
  if (fields.has("latent")) shape.latent = read_latent(fields.object("latent"));
  if (fields.has("temperature")) shape.temperature = read_temperature(fields.object("temperature"));
  if (fields.has("lengths")) {
    shape.lengths = fields.wholes("lengths", 0, std::numeric_limits<std::int64_t>::max());
  }
  // Two ways to say the same.
  if (shape.kv_heads == shape.heads) shape.kv_heads = 0;
  if (shape.d_out % shape.heads == 0 && shape.value_dim == shape.head_dim()) shape.value_dim = 0;
}

}  // namespace

std::string_view to_string(Pairs pairs) { return name_of(kPairs, pairs); }

std::optional<Pairs> parse_pairs(std::string_view name) { return value_of(kPairs, name); }

std::string_view to_string(Over over) { return name_of(kOver, over); }

std::optional<Over> parse_over(std::string_view name) { return value_of(kOver, name); }

std::span<const ShapeField> shape_fields() { return kFields; }

nlohmann::ordered_json to_json(const Case& shape) {
  nlohmann::ordered_json json = {
      {"batch", shape.batch},   {"tokens", shape.tokens},     {"d_in", shape.d_in},
      {"d_out", shape.d_out},   {"heads", shape.heads},       {"head_dim", shape.head_dim()},
      {"causal", shape.causal}, {"qkv_bias", shape.qkv_bias}, {"out_proj", shape.d_proj > 0},
      {"d_proj", shape.d_proj}, {"dropout", shape.dropout}};
  if (shape.key_heads() != shape.heads) json["kv_heads"] = shape.kv_heads;
  add_rotary(shape.rotary, json);
  add_norm(shape.norm, json);
  add_positions(shape, json);
  add_latent(shape.latent, json);
  for (const ShapeField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (shape.*member > 0) json[field.name] = shape.*member;
        },
        field.member);
  }
  if (!shape.lengths.empty()) json["lengths"] = shape.lengths;
  return json;
}

Case shape_from_json(const JsonFields& fields) {
  Case shape;
  shape.batch = fields.whole("batch", 0);
  shape.tokens = fields.whole("tokens", 0);
  shape.d_in = fields.whole("d_in", 0);
  shape.d_out = fields.whole("d_out", 1);
  shape.heads = fields.whole("heads", 1);
  shape.causal = fields.flag("causal");
  shape.qkv_bias = fields.flag("qkv_bias");
  const bool projects = fields.flag("out_proj");
  shape.d_proj = fields.whole("d_proj", 0);
  shape.dropout = fields.not_negative("dropout");
  read_fields(fields, shape);
  shape.validate();
  if (projects != (shape.d_proj > 0)) fields.fail("out_proj", "whether d_proj is above 0");
  if (fields.whole("head_dim", 1) != shape.head_dim()) {
    fields.fail("head_dim", fmt::format("d_out / heads = {}", shape.head_dim()));
  }
  return shape;
}

}  // namespace headroom
