// Measures the rivals of one shape in this process, where others take part in them: MPI knows one
// process a rank, so none is forked for a group or a round.
#pragma once

#include <memory>

#include "measure/group/group_executor.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure {

/// All samples of a cell come from this process. All references must outlive the executor, whose
/// `measure` throws as `measure_round`, and whatever ends all ranks.
std::unique_ptr<GroupExecutor> make_in_process_executor(const plan::Group& group,
                                                        const Settings& settings,
                                                        plan::Estimator& estimator,
                                                        Observer& observer);

}  // namespace headroom::measure
