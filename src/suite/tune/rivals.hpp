// The first rival of each group beside all others of it.
#pragma once

#include <optional>
#include <vector>

#include "judge/verdict.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"

namespace headroom::tune {

/// Measures the plan as a sweep does: checked against the oracle, interleaved, from processes of
/// their own, beside a control.
/// @return the time of every other rival over that of the first, group by group; nothing if it was
///         stopped
/// @throws std::runtime_error if a rival cannot be measured or its result is wrong.
std::optional<std::vector<judge::Difference>> compare_with_first(const plan::Plan& plan,
                                                                 const measure::Settings& settings,
                                                                 measure::Observer& observer);

}  // namespace headroom::tune
