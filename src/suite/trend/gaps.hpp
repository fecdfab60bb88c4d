// Versions that say of a cell what is no time.
#pragma once

#include <vector>

#include "trend/readings.hpp"
#include "trend/series.hpp"

namespace headroom::trend {

/// Fills in `gaps` of all series of the machine. Cells that failed or crashed wherever they were
/// measured become series without a point; those that were only declined or skipped do not, because
/// nothing ever broke.
/// @param runs in the order in which `machine.versions` names them
void add_gaps(MachineTrend& machine, const std::vector<Run>& runs);

}  // namespace headroom::trend
