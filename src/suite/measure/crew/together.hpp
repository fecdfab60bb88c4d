// Measures the rivals of one shape in this process, where others take part in them: MPI knows one
// process a rank, so none is forked for a group or a round.
#pragma once

#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure {

/// Each cell of the group ends in exactly one `finished`, unless `observer.stopped` returns true
/// before. All samples of a cell come from this process.
/// @throws as `measure_round`, and whatever ends all ranks
void measure_group_together(const plan::Group& group, const Settings& settings,
                            plan::Estimator& estimator, Observer& observer);

}  // namespace headroom::measure
