// Measures the rivals of one shape in several processes, and finds out which one killed its own.
#pragma once

#include <memory>

#include "measure/group/group_executor.hpp"
#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure {

/// The samples of a cell come from as many processes as its `plan::SamplePlan` says, one after the
/// other, with the rivals interleaved in each. A cell that ends its process is `crashed` with the
/// reason, and the others continue in a new one. If the process died while several rivals were
/// interleaved, each of them runs in processes of its own, so that the one that dies is known.
/// All references must outlive the executor.
std::unique_ptr<GroupExecutor> make_forked_executor(const plan::Group& group,
                                                    const Settings& settings,
                                                    plan::Estimator& estimator, Observer& observer);

}  // namespace headroom::measure
