#include "config.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/call_sizes.hpp"
#include "headroom/error.hpp"
#include "headroom/layer_config.hpp"

namespace headroom::python {
namespace {

namespace nb = nanobind;
using namespace nanobind::literals;

// Values of an enumeration by the names that Python has for them; the first is the default.
template <class Value, std::size_t count>
using Names = std::array<std::pair<std::string_view, Value>, count>;

constexpr Names<Rotary::Pairs, 3> kPairs{{{"none", Rotary::Pairs::none},
                                          {"halves", Rotary::Pairs::halves},
                                          {"neighbours", Rotary::Pairs::neighbours}}};
constexpr Names<QueryKeyNorm::Over, 3> kNorms{{{"none", QueryKeyNorm::Over::none},
                                               {"head", QueryKeyNorm::Over::head},
                                               {"width", QueryKeyNorm::Over::width}}};
constexpr Names<PositionBias::Kind, 3> kBiases{{{"none", PositionBias::Kind::none},
                                                {"slopes", PositionBias::Kind::slopes},
                                                {"buckets", PositionBias::Kind::buckets}}};

template <class Value, std::size_t count>
Value value_of(const Names<Value, count>& names, std::string_view option, const std::string& name) {
  std::string allowed;
  for (const auto& [known, value] : names) {
    if (known == name) return value;
    if (known != "none") allowed += fmt::format("'{}', ", known);
  }
  throw InvalidArgument(fmt::format("{} is '{}'; allowed are {}or None", option, name, allowed));
}

template <class Value, std::size_t count>
std::string name_of(const Names<Value, count>& names, Value wanted) {
  for (const auto& [known, value] : names) {
    if (value == wanted) return std::string(known);
  }
  return {};
}

nb::dict fields_of_rotary(const Rotary& rotary) {
  nb::dict fields;
  fields["pairs"] = name_of(kPairs, rotary.pairs);
  fields["base"] = rotary.base;
  fields["scale"] = rotary.scale;
  fields["width"] = rotary.width;
  fields["divisors"] = rotary.divisors;
  fields["amplitude"] = rotary.amplitude;
  fields["sections"] = std::vector(rotary.sections.begin(), rotary.sections.end());
  fields["interleaved"] = rotary.interleaved;
  fields["context"] = rotary.context;
  fields["long_divisors"] = rotary.long_divisors;
  fields["growth"] = rotary.growth;
  return fields;
}

nb::dict fields_of_norm(const QueryKeyNorm& norm) {
  nb::dict fields;
  fields["over"] = name_of(kNorms, norm.over);
  fields["weighted"] = norm.weighted;
  fields["after_rotary"] = norm.after_rotary;
  fields["epsilon"] = norm.epsilon;
  return fields;
}

nb::dict fields_of_latent(const Latent& latent) {
  nb::dict fields;
  fields["rank"] = latent.rank;
  fields["query_rank"] = latent.query_rank;
  fields["shared"] = latent.shared;
  fields["epsilon"] = latent.epsilon;
  return fields;
}

// All of them, by the names of the C++ structure.
nb::dict fields_of(const LayerConfig& config) {
  nb::dict fields;
  fields["d_in"] = config.d_in;
  fields["d_out"] = config.d_out;
  fields["heads"] = config.heads;
  fields["kv_heads"] = config.key_heads();
  fields["value_dim"] = config.head_value_dim();
  fields["d_proj"] = config.d_proj;
  fields["d_memory"] = config.d_memory;
  fields["causal"] = config.causal;
  fields["window"] = config.window;
  fields["chunk"] = config.chunk;
  fields["qkv_bias"] = config.qkv_bias;
  fields["clip"] = config.clip;
  fields["rotary"] = fields_of_rotary(config.rotary);
  fields["norm"] = fields_of_norm(config.norm);
  fields["scale"] = config.score_scale();
  fields["softcap"] = config.softcap;
  fields["sinks"] = config.sinks;
  nb::dict bias;
  bias["kind"] = name_of(kBiases, config.position_bias.kind);
  bias["buckets"] = config.position_bias.buckets;
  bias["farthest"] = config.position_bias.farthest;
  fields["position_bias"] = bias;
  fields["temperature"] = nb::make_tuple(config.temperature.step, config.temperature.scale);
  fields["gate"] = config.gate;
  fields["latent"] = fields_of_latent(config.latent);
  fields["dropout"] = config.dropout;
  fields["dropout_seed"] = config.dropout_seed;
  return fields;
}

void bind_rules(nb::class_<LayerConfig>& binding) {
  binding
      .def("set_rotary",
           [](LayerConfig& config, const std::string& pairs, double base, double scale,
              std::int64_t width, const std::vector<double>& divisors, double amplitude) {
             const Rotary::Pairs of = value_of(kPairs, "rotary", pairs);
             config.rotary = {of, base, scale, width, divisors, amplitude};
           })
      .def("set_sections",
           [](LayerConfig& config, const std::vector<std::int64_t>& sections, bool interleaved) {
             if (sections.size() != config.rotary.sections.size()) {
               throw InvalidArgument(
                   fmt::format("rotary has {} sections; allowed are three", sections.size()));
             }
             std::copy(sections.begin(), sections.end(), config.rotary.sections.begin());
             config.rotary.interleaved = interleaved;
           })
      .def("set_long_contexts",
           [](LayerConfig& config, std::int64_t context, const std::vector<double>& long_divisors,
              double growth) {
             config.rotary.context = context;
             config.rotary.long_divisors = long_divisors;
             config.rotary.growth = growth;
           })
      .def("set_norm",
           [](LayerConfig& config, const std::string& over, bool weighted, bool after_rotary,
              double epsilon) {
             config.norm = {value_of(kNorms, "norm", over), weighted, after_rotary, epsilon};
           })
      .def("set_position_bias",
           [](LayerConfig& config, const std::string& kind, std::int64_t buckets,
              std::int64_t farthest) {
             config.position_bias = {value_of(kBiases, "position_bias", kind), buckets, farthest};
           })
      .def("set_temperature",
           [](LayerConfig& config, double step, double scale) {
             config.temperature = {step, scale};
           })
      .def("set_latent", [](LayerConfig& config, std::int64_t rank, std::int64_t query_rank,
                            std::int64_t shared, double epsilon) {
        config.latent = {rank, query_rank, shared, epsilon};
      });
}

}  // namespace

void bind_config(nb::module_& module) {
  nb::class_<LayerConfig> binding(module, "LayerConfig");
  binding.def(nb::init<>())
      .def(nb::init<const LayerConfig&>())
      .def_rw("d_in", &LayerConfig::d_in)
      .def_rw("d_out", &LayerConfig::d_out)
      .def_rw("heads", &LayerConfig::heads)
      .def_rw("causal", &LayerConfig::causal)
      .def_rw("qkv_bias", &LayerConfig::qkv_bias)
      .def_rw("d_proj", &LayerConfig::d_proj)
      .def_rw("dropout", &LayerConfig::dropout)
      .def_rw("dropout_seed", &LayerConfig::dropout_seed)
      .def_rw("kv_heads", &LayerConfig::kv_heads)
      .def_rw("value_dim", &LayerConfig::value_dim)
      .def_rw("window", &LayerConfig::window)
      .def_rw("chunk", &LayerConfig::chunk)
      .def_rw("clip", &LayerConfig::clip)
      .def_rw("scale", &LayerConfig::scale)
      .def_rw("softcap", &LayerConfig::softcap)
      .def_rw("sinks", &LayerConfig::sinks)
      .def_rw("gate", &LayerConfig::gate)
      .def_rw("d_memory", &LayerConfig::d_memory)
      .def_prop_ro("output_width", &LayerConfig::output_width)
      .def("fields", &fields_of)
      .def("id", &LayerConfig::id);
  bind_rules(binding);
  nb::class_<CallSizes>(module, "CallSizes")
      .def(nb::init<>())
      .def_rw("batch", &CallSizes::batch)
      .def_rw("tokens", &CallSizes::tokens)
      .def_rw("memory_tokens", &CallSizes::memory_tokens);
}

}  // namespace headroom::python
