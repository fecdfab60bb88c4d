// Wrapper and split on this machine, for the page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headroom/shape.hpp"
#include "judge/verdict.hpp"

namespace headroom::lesson {

struct FormulationTimes {
  std::string backend;
  double wrapper = 0;            ///< seconds per pass, the median
  double split = 0;              ///< likewise
  judge::Difference difference;  ///< split over wrapper
};

struct ShapeTimes {
  Shape shape;
  std::string what;  ///< for people
  std::vector<FormulationTimes> backends;
};

/// The layers of a lesson are too small for a time to mean anything, so two others are measured: of
/// few wide heads and of many narrow ones. Each cell is checked against the oracle first, then all
/// of a shape are timed interleaved on one thread.
/// @param started what is measured next; may be empty
/// @param stopped polled; once true, nothing is returned
/// @throws std::runtime_error if a result is wrong.
std::vector<ShapeTimes> time_formulations(const std::function<void(const std::string&)>& started,
                                          const std::function<bool()>& stopped);

}  // namespace headroom::lesson
