// The extension module headroom._core. The package's Python files say what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "attend.hpp"
#include "config.hpp"
#include "headroom/headroom.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/version.h"
#include "layer.hpp"

namespace headroom::python {
namespace {

using namespace nanobind::literals;

// Read, a part is its sizes; written, it is kept where it lies.
void bind_weights(nb::module_& module) {
  nb::class_<ArrayWeights> binding(module, "Weights");
  binding.def(nb::init<>());
  const auto bind = [&](const char* name, ArrayWeights::Part part, std::size_t dimensions) {
    binding.def_prop_rw(
        name,
        [=](const ArrayWeights& weights) {
          const ConstAnyMatrix& view = weights.views().*part;
          return dimensions == 2 ? nb::make_tuple(view.rows, view.cols) : nb::make_tuple(view.cols);
        },
        [=](ArrayWeights& weights, nb::handle array) {
          weights.set(name, part, dimensions, array);
        });
  };
  bind("query", &WeightViews::query, 2);
  bind("key", &WeightViews::key, 2);
  bind("value", &WeightViews::value, 2);
  bind("output", &WeightViews::output, 2);
  bind("query_bias", &WeightViews::query_bias, 1);
  bind("key_bias", &WeightViews::key_bias, 1);
  bind("value_bias", &WeightViews::value_bias, 1);
  bind("output_bias", &WeightViews::output_bias, 1);
  bind("query_norm", &WeightViews::query_norm, 1);
  bind("key_norm", &WeightViews::key_norm, 1);
  bind("sinks", &WeightViews::sinks, 1);
  bind("gate", &WeightViews::gate, 2);
  bind("position_bias", &WeightViews::position_bias, 2);
  bind("key_down", &WeightViews::key_down, 2);
  bind("key_down_norm", &WeightViews::key_down_norm, 1);
  bind("query_down", &WeightViews::query_down, 2);
  bind("query_down_norm", &WeightViews::query_down_norm, 1);
}

nb::dict facts_of(const Choice& choice) {
  nb::dict facts;
  facts["backend"] = choice.backend;
  facts["source"] = std::string(to_string(choice.source));
  facts["reason"] = choice.reason;
  facts["kernels"] = choice.kernels;
  facts["kernels_reason"] = choice.kernels_reason;
  facts["precision"] = std::string(to_string(choice.precision));
  facts["precision_reason"] = choice.precision_reason;
  facts["unit"] = std::string(to_string(choice.unit));
  return facts;
}

nb::dict facts_of(const AttentionCosts& costs) {
  nb::dict facts;
  facts["setup_seconds"] = costs.setup_seconds;
  facts["workspace_bytes"] = costs.workspace_bytes;
  facts["attend_provenance"] = costs.attend_provenance;
  return facts;
}

nb::dict choice_of(const Layer& layer) {
  const AttentionOptions& options = layer.attention().options();
  nb::dict facts = facts_of(layer.attention().choice());
  facts["formulation"] = std::string(to_string(layer.attention().choice().formulation));
  facts["threads"] = options.threads;
  facts["isa"] =
      options.isa ? nb::object(nb::cast(std::string(to_string(*options.isa)))) : nb::none();
  return facts;
}

nb::dict costs_of(const Layer& layer) {
  const AttentionCosts& costs = layer.attention().costs();
  nb::dict facts = facts_of(costs);
  facts["packed_bytes"] = costs.packed_bytes;
  facts["project_provenance"] = costs.project_provenance;
  facts["packs_heads_together"] = costs.packs_heads_together;
  return facts;
}

void bind_layer(nb::module_& module) {
  nb::class_<NamedOptions>(module, "Options")
      .def(nb::init<>())
      .def_rw("backend", &NamedOptions::backend)
      .def_rw("formulation", &NamedOptions::formulation)
      .def_rw("threads", &NamedOptions::threads)
      .def_rw("isa", &NamedOptions::isa)
      .def_rw("unit", &NamedOptions::unit)
      .def_rw("kernels", &NamedOptions::kernels)
      .def_rw("precision", &NamedOptions::precision)
      .def_rw("dtype", &NamedOptions::dtype)
      .def_rw("weights_dtype", &NamedOptions::weights_dtype)
      .def_rw("cache_dtype", &NamedOptions::cache_dtype)
      .def_rw("tuning_file", &NamedOptions::tuning_file);
  nb::class_<Cache>(module, "Cache")
      .def_prop_ro("sequences", &Cache::sequences)
      .def_prop_ro("capacity", &Cache::capacity)
      .def_prop_ro("nbytes", &Cache::bytes)
      .def_prop_ro("lengths", &Cache::lengths)
      .def("truncate", &Cache::truncate, "sequence"_a, "length"_a)
      .def("take", &Cache::take, "other"_a, "sequences"_a)
      .def("clear", &Cache::clear);
  nb::class_<Layer>(module, "Layer")
      .def_static("make",
                  [](const LayerConfig& config, const CallSizes& largest,
                     const ArrayWeights& weights, const NamedOptions& options) {
                    std::vector<std::string> warnings;
                    auto layer = std::make_unique<Layer>(config, largest, weights.views(), options,
                                                         warnings);
                    return std::make_pair(std::move(layer), warnings);
                  })
      .def("forward", &Layer::forward, "x"_a.none(), "out"_a.none(), "padded"_a, "cache"_a.none(),
           "memory"_a.none(), "memory_lengths"_a.none(), "places_before"_a.none(),
           "positions"_a.none(), "context"_a, "mask"_a.none())
      .def("append", &Layer::append, "x"_a.none(), "padded"_a, "cache"_a, "positions"_a.none(),
           "context"_a)
      .def("seconds", &Layer::seconds, "x"_a, "out"_a, "calls"_a)
      .def("make_cache", &Layer::make_cache, "sequences"_a, "capacity"_a)
      .def_prop_ro("choice", &choice_of)
      .def_prop_ro("costs", &costs_of);
}

// A layer of a file, before it is packed.
void bind_loaded(nb::module_& module) {
  nb::class_<LayerWeights>(module, "LayerWeights")
      .def_ro("config", &LayerWeights::config)
      .def_ro("layout", &LayerWeights::layout)
      .def_ro("layer", &LayerWeights::layer)
      .def_ro("notes", &LayerWeights::notes)
      .def_ro("warnings", &LayerWeights::warnings)
      .def("make",
           [](const LayerWeights& loaded, const CallSizes& largest, const NamedOptions& options) {
             std::vector<std::string> warnings;
             auto layer =
                 std::make_unique<Layer>(loaded.config, largest, loaded.weights, options, warnings);
             return std::make_pair(std::move(layer), warnings);
           });
  module.def(
      "load_weights",
      [](const std::string& path, const std::string& layer, const std::string& config,
         const std::string& family) {
        WeightsOptions options;
        options.layer = layer;
        options.config = config;
        options.family = family;
        nb::gil_scoped_release unlocked;
        return load_weights(path, options);
      },
      "path"_a, "layer"_a, "config"_a, "family"_a);
}

void bind_attend(nb::module_& module) {
  nb::class_<DotProductSizes>(module, "Sizes")
      .def(nb::init<>())
      .def_rw("batch", &DotProductSizes::batch)
      .def_rw("queries", &DotProductSizes::queries)
      .def_rw("keys", &DotProductSizes::keys)
      .def_rw("heads", &DotProductSizes::heads)
      .def_rw("kv_heads", &DotProductSizes::kv_heads)
      .def_rw("head_dim", &DotProductSizes::head_dim);
  nb::class_<Attend>(module, "Attend")
      .def_static(
          "make",
          [](const DotProductSizes& most, bool causal, std::int64_t window, double scale,
             double softcap, const NamedOptions& options) {
            std::vector<std::string> warnings;
            auto attend = std::make_unique<Attend>(most, ScoreRule{causal, window, scale, softcap},
                                                   options_of(options, warnings));
            return std::make_pair(std::move(attend), warnings);
          },
          "most"_a, "causal"_a, "window"_a, "scale"_a, "softcap"_a, "options"_a)
      .def("run", &Attend::run, "q"_a, "k"_a, "v"_a, "out"_a, "mask"_a.none(), "sinks"_a.none(),
           "query_lengths"_a.none(), "key_lengths"_a.none(), "cache"_a.none())
      .def("make_cache", &Attend::make_cache, "sequences"_a, "capacity"_a)
      .def_prop_ro("choice",
                   [](const Attend& attend) { return facts_of(attend.attention().choice()); })
      .def_prop_ro("costs",
                   [](const Attend& attend) { return facts_of(attend.attention().costs()); });
}

nb::list list_backends() {
  nb::list list;
  for (const BackendInfo& info : backends()) {
    nb::dict row;
    row["name"] = info.name;
    row["available"] = info.available;
    row["reason"] = info.available ? nb::none() : nb::object(nb::cast(info.reason));
    row["description"] = info.description;
    row["library"] = info.library;
    row["threaded"] = info.threaded;
    list.append(row);
  }
  return list;
}

}  // namespace
}  // namespace headroom::python

NB_MODULE(_core, module) {
  using namespace headroom::python;
  module.attr("version") = HEADROOM_VERSION;
  bind_config(module);
  bind_weights(module);
  bind_layer(module);
  bind_loaded(module);
  bind_attend(module);
  module.def("backends", &list_backends);
}
