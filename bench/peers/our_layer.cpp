#include "our_layer.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

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

ordered_json told_of(const Attention& layer, const std::string& backend) {
  const AttentionCosts& costs = layer.costs();
  const bool obeys = find_backend(backend).uses_isa;
  return {{"threads", layer.options().threads},
          {"isa", obeys ? to_string(select_isa(layer.options().isa)) : "baseline"},
          {"setup_s", costs.setup_seconds},
          {"packed_bytes", costs.packed_bytes},
          {"workspace_bytes", costs.workspace_bytes},
          {"project", costs.project_provenance},
          {"attend", costs.attend_provenance}};
}

std::vector<Variant> variants(const Problem& problem, const std::string& backend) {
  // Read once, and gone with the last of the variants.
  const auto weights = std::make_shared<const SplitWeights>(problem.weights());
  std::vector<Variant> all;
  for (const Formulation formulation :
       {Formulation::fused, Formulation::split, Formulation::wrapper}) {
    all.push_back(
        {std::string(to_string(formulation)), formulation, [=] {
           const AttentionOptions options{backend, formulation, problem.threads};
           const auto layer = std::make_shared<Attention>(problem.shape, *weights, options);
           return Layer{[layer](ConstMatrixView x, MatrixView y) { layer->forward(x, y); },
                        told_of(*layer, backend)};
         }});
  }
  return all;
}

}  // namespace

void serve_layer(const std::string& backend) {
  serve_rival({[&] { return about(backend); },
               [&](const Problem& problem) { return variants(problem, backend); }});
}

}  // namespace headroom::peers
