#include "our_layer.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/element/convert.hpp"
#include "headroom/headroom.hpp"
#include "headroom/version.hpp"
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
Layer bf16_layer(const std::shared_ptr<Attention>& layer, ordered_json told) {
  struct Buffers {
    std::map<const float*, std::vector<Bf16>> x;
    std::vector<Bf16> y;
  };
  const auto buffers = std::make_shared<Buffers>();
  const auto pass = [layer, buffers](ConstMatrixView x, MatrixView y) {
    std::vector<Bf16>& rounded = buffers->x[x.data];
    if (rounded.empty()) {
      rounded.resize(static_cast<std::size_t>(x.rows * x.cols));
      to_bf16(x.data, x.rows * x.cols, rounded.data());
      buffers->y.resize(static_cast<std::size_t>(y.rows * y.cols));
    }
    layer->forward({rounded.data(), x.rows, x.cols, x.cols},
                   {buffers->y.data(), y.rows, y.cols, y.cols});
  };
  const auto read = [buffers](MatrixView y) {
    from_bf16(buffers->y.data(), y.rows * y.cols, y.data);
  };
  return {pass, std::move(told), read};
}

ordered_json told_of(const Attention& layer, const std::string& backend) {
  const AttentionCosts& costs = layer.costs();
  const bool obeys = find_backend(backend).uses_isa;
  return {{"threads", layer.options().threads},
          {"isa", obeys ? to_string(select_isa(layer.options().isa)) : "baseline"},
          {"unit", to_string(layer.choice().unit)},
          {"setup_s", costs.setup_seconds},
          {"packed_bytes", costs.packed_bytes},
          {"workspace_bytes", costs.workspace_bytes},
          {"project", costs.project_provenance},
          {"attend", costs.attend_provenance}};
}

std::vector<Variant> variants(const Problem& problem, const OurLayer& ours) {
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
           const auto layer = std::make_shared<Attention>(problem.shape, *weights, options);
           if (ours.numbers.dtype == Dtype::bf16) {
             return bf16_layer(layer, told_of(*layer, ours.backend));
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
