// Wrapper and split on this machine, for the page.
#pragma once

#include <string>
#include <vector>

#include "core/case.hpp"
#include "judge/verdict.hpp"
#include "machine/meters/peak.hpp"
#include "measure/observer.hpp"

namespace headroom::lesson {

struct FormulationTimes {
  std::string backend;
  bool together = false;         ///< it packs the matrices of all heads over one input together
  double wrapper = 0;            ///< seconds per pass, the median
  double split = 0;              ///< likewise
  judge::Difference difference;  ///< split over wrapper
};

struct ShapeTimes {
  Case shape;
  std::vector<FormulationTimes> backends;
};

/// Equal work and equal weights, with 1, 12 and 96 heads: only the number of matrices differs.
std::vector<Case> timed_shapes();

/// The layers of a lesson are too small for a time to mean anything, so `timed_shapes` are
/// measured, on one thread and as a sweep does.
/// @param limits_of may be null
/// @return nothing if it was stopped
/// @throws std::runtime_error if a result is wrong.
std::vector<ShapeTimes> time_formulations(machine::LimitKernelsOf limits_of,
                                          measure::Observer& observer);

}  // namespace headroom::lesson
