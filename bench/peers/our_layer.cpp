#include "our_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/element/convert.hpp"
#include "core/element/numbers_of.hpp"
#include "headroom/headroom.hpp"
#include "headroom/version.hpp"
#include "measure/group/heads_after_past.hpp"
#include "measure/group/heads_layout.hpp"
#include "rival.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;

ordered_json about(const std::string& backend) {
  return {{"version", fmt::format("headroom {}", HEADROOM_VERSION)},
          {"settings", {{"library", find_backend(backend).library}, {"formulations", "all"}}}};
}

// A call of bf16 values, as the rivals that store bf16 are called: x is rounded when it is first
// seen, which is before anything is timed, and y is read after the call.
// @param call with x, y, and their rows
template <class Call>
Layer rounded_call(Call call, ordered_json told) {
  struct Buffers {
    std::map<const float*, std::vector<Bf16>> x;
    std::vector<Bf16> y;
  };
  const auto buffers = std::make_shared<Buffers>();
  const auto pass = [call, buffers](ConstMatrixView x, MatrixView y) {
    std::vector<Bf16>& rounded = buffers->x[x.data];
    if (rounded.empty()) {
      rounded.resize(static_cast<std::size_t>(x.rows * x.cols));
      to_bf16(x.data, x.rows * x.cols, rounded.data());
      buffers->y.resize(static_cast<std::size_t>(y.rows * y.cols));
    }
    call(rounded.data(), buffers->y.data(), x.rows);
  };
  const auto read = [buffers](MatrixView y) {
    from_bf16(buffers->y.data(), y.rows * y.cols, y.data);
  };
  return {pass, std::move(told), read};
}

ordered_json told_of(const AttentionCosts& costs, const Choice& choice, int threads,
                     const std::string& backend) {
  const bool obeys = find_backend(backend).uses_isa;
  return {{"threads", threads},
          {"isa", obeys ? to_string(select_isa(std::nullopt)) : "baseline"},
          {"unit", to_string(choice.unit)},
          {"setup_s", costs.setup_seconds},
          {"packed_bytes", costs.packed_bytes},
          {"workspace_bytes", costs.workspace_bytes},
          {"project", costs.project_provenance},
          {"attend", costs.attend_provenance}};
}

ordered_json told_of(const Attention& layer, const std::string& backend) {
  return told_of(layer.costs(), layer.choice(), layer.options().threads, backend);
}

// Keys and values of floats or bf16, where cells have them, or what came before in a cache of other
// numbers; the queries are brought by each call.
template <class T>
struct Given {
  Given(const Problem& problem, const AttentionOptions& options,
        void (*convert)(const float*, std::int64_t, T*))
      : shape(problem.shape),
        attention(measure::sizes_of(shape), measure::rule_of(shape), options),
        heads(attention, shape, numbers_of(options, attention.choice().precision)) {
    for (auto [name, to] : {std::pair("key", &key), std::pair("value", &value)}) {
      const Matrix rows = problem.heads(name);
      to->resize(rows.values.size());
      measure::place_keys(rows, shape, to->data(), convert);
    }
    heads.fill<T>(key.data(), value.data());
  }

  void run(const T* q, T* out) { heads.run<T>(q, out, key.data(), value.data()); }

  Case shape;
  DotProductAttention attention;
  measure::HeadsAfterPast heads;
  std::vector<T> key, value;
};

Layer given_heads(const Problem& problem, const OurLayer& ours, const AttentionOptions& options) {
  const auto told = [&](const DotProductAttention& attention) {
    return told_of(attention.costs(), attention.choice(), options.threads, ours.backend);
  };
  if (options.dtype == Dtype::f32) {
    const auto given = std::make_shared<Given<float>>(
        problem, options,
        [](const float* from, std::int64_t count, float* to) { std::copy_n(from, count, to); });
    return {[given](ConstMatrixView x, MatrixView y) { given->run(x.data, y.data); },
            told(given->attention),
            {}};
  }
  const auto given = std::make_shared<Given<Bf16>>(problem, options, to_bf16);
  return rounded_call([given](const Bf16* x, Bf16* y, std::int64_t) { given->run(x, y); },
                      told(given->attention));
}

std::vector<Variant> variants(const Problem& problem, const OurLayer& ours) {
  if (!problem.shape.has_projections()) {
    AttentionOptions options{ours.backend, Formulation::split, problem.threads};
    options.precision = ours.numbers.precision;
    options.dtype = ours.numbers.dtype;
    options.cache_dtype = ours.numbers.cache;
    return {{"attention", Formulation::split, [=] { return given_heads(problem, ours, options); }}};
  }
  // Read once, and gone with the last of the variants.
  const auto weights = std::make_shared<const SplitWeights>(problem.weights());
  std::vector<Variant> all;
  for (const Formulation formulation :
       {Formulation::fused, Formulation::split, Formulation::wrapper}) {
    all.push_back(
        {std::string(to_string(formulation)), formulation, [=] {
           AttentionOptions options{ours.backend, formulation, problem.threads};
           options.precision = ours.numbers.precision;
           options.dtype = ours.numbers.dtype;
           options.weights_dtype = ours.numbers.weights;
           const auto layer =
               std::make_shared<Attention>(problem.shape, problem.shape, *weights, options);
           if (ours.numbers.dtype == Dtype::bf16) {
             return rounded_call(
                 [layer](const Bf16* x, Bf16* y, std::int64_t rows) {
                   const LayerConfig& config = layer->config();
                   const std::int64_t width = config.output_width();
                   layer->forward({x, rows, config.d_in, config.d_in}, {y, rows, width, width});
                 },
                 told_of(*layer, ours.backend));
           }
           return Layer{[layer](ConstMatrixView x, MatrixView y) { layer->forward(x, y); },
                        told_of(*layer, ours.backend),
                        {}};
         }});
  }
  return all;
}

}  // namespace

void serve_layer(const OurLayer& ours) {
  serve_rival({[&] { return about(ours.backend); },
               [&](const Problem& problem) { return variants(problem, ours); }});
}

}  // namespace headroom::peers
