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

/// Operations of a layer from which on several threads win: waking a second one costs some ten
/// microseconds, which one thread halves its time by from about 2 MFLOP on; on two cores with AVX2
/// `tbb` and `xsimd` met between 0.5 and 4 MFLOP.
inline constexpr double kThreadedFlops = 3e6;

/// The first one that is usable of: `tbb` if there is more than one thread and the layer has at
/// least `kThreadedFlops` operations, then `xsimd`, `tbb`, `onednn`, `autovec`, `naive`.
/// `fused`, the fewest products, unless the request names another formulation.
/// @throws Unavailable if none is usable.
HEADROOM_API RuleChoice choose_by_rule(const Request& request);

}  // namespace headroom::tuning
