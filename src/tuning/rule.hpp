// The choice where no measurement helps.
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

/// The usable backend with the smallest preference; before it the first one that says that several
/// threads pay for a layer of this many operations, if there is more than one thread.
/// `fused`, the fewest products, unless the request names another formulation.
/// @throws Unavailable if none is usable.
HEADROOM_API RuleChoice choose_by_rule(const Request& request);

}  // namespace headroom::tuning
