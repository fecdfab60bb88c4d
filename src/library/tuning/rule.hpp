// The choice if no measurement applies.
#pragma once

#include <string>

#include "headroom/export.h"
#include "tuning/request.hpp"

namespace headroom::tuning {

struct RuleChoice {
  std::string backend;
  Formulation formulation = Formulation::split;
  std::string reason;
};

struct RulePrecision {
  Precision precision = Precision::f32;
  std::string reason;
};

/// Of what a backend could compute the layer with, the fastest as far as facts tell: the first that
/// pays for so many rows, otherwise f32. For a layer whose precision was not asked for.
HEADROOM_API RulePrecision precision_by_rule(const Case& shape, const Usable& usable);

/// With more than one thread, the most preferred backend for which several threads pay off at this
/// number of FLOPs. Otherwise the most preferred usable backend; a smaller preference value comes
/// first. `fused`, which has the fewest products, unless the request names another formulation.
/// @throws Unavailable if none is usable.
HEADROOM_API RuleChoice choose_by_rule(const Request& request);

}  // namespace headroom::tuning
