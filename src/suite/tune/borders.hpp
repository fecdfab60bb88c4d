// From how many rows on a unit multiplies parts faster than vectors multiply f32.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/observer.hpp"
#include "tune/tuned.hpp"

namespace headroom::tune {

/// Where the border is to be: at its own place as long as no measured number of rows speaks against
/// it. Otherwise at the most rows for which the unit is slower, or right below the fewest from
/// which it is faster.
/// @param rows ascending
std::int64_t choose_border(std::int64_t own, const std::vector<RowTimes>& rows);

/// Measures layers of `settings.rows` tokens in every precision that a unit of this machine
/// multiplies, by the unit and without it, and adds the outcome to every entry of `all`.
/// @return false if it was stopped
/// @throws as `compare_with_first`
bool tune_borders(const TuneSettings& settings, measure::Observer& observer,
                  std::vector<Tuned>& all);

}  // namespace headroom::tune
