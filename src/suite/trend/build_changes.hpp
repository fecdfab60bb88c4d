// What else changed where a step is, so that it is not laid at the door of the program's own code.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trend/readings.hpp"

namespace headroom::trend {

/// A cell on one side of a step.
struct StepSide {
  const nlohmann::ordered_json* environment = nullptr;
  const Reading* reading = nullptr;
};

/// Compiler, flags, the library behind the cell's backend, settings and conditions, and how the
/// cell itself ran. Such as `"compiler 'GNU 12' before, 'GNU 13' after"`; the version of the
/// program is left out, because that is what a step is between.
std::vector<std::string> build_changes(const StepSide& before, const StepSide& after);

}  // namespace headroom::trend
