#include "tune/own_choices.hpp"

#include <cstdint>
#include <string>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/initialise.hpp"

namespace headroom::tune {
namespace {

std::string backend_with_variants() {
  for (const BackendInfo& info : backends()) {
    if (info.available && backend_facts(info.name).kernel_variants != nullptr) return info.name;
  }
  return "";
}

// More than any unit's few rows.
constexpr std::int64_t kManyRows = 256;

Choice choice_of(const std::string& backend, std::optional<Precision> precision) {
  Case shape;
  if (!precision) shape.tokens = kManyRows;
  shape.d_in = shape.d_out = 16;
  AttentionOptions options;
  options.backend = backend;
  options.precision = precision;
  options.threads = 1;
  return layer_for(shape, gaussian_weights(shape, 1), options).choice();
}

}  // namespace

std::optional<OwnChoices> own_choices() {
  const std::string backend = backend_with_variants();
  if (backend.empty()) return std::nullopt;
  OwnChoices own{choice_of(backend, Precision::f32), {}, choice_of(backend, std::nullopt)};
  for (const Precision precision : kAllPrecisions) {
    // Neither has a unit, or a border of few rows.
    if (precision == Precision::f32 || precision == Precision::int8) continue;
    own.others.emplace_back(precision, choice_of(backend, precision));
  }
  return own;
}

}  // namespace headroom::tune
