// How long a plan takes, and how it is made to fit.
#pragma once

#include "plan/admission.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::plan {

/// Seconds of the cells of one shape that these limits let through, with what they share; 0 if
/// there are none.
double seconds_of(const Group& group, const TimingPlan& timing, const Estimator& estimator,
                  const Limits& limits);

/// Likewise for all shapes.
double plan_seconds(const Plan& plan, const TimingPlan& timing, const Estimator& estimator,
                    const Limits& limits = {});

/// Makes the plan fit a budget: first with fewer repetitions, then by marking the dearest cells as
/// skipped, with their estimate.
/// @param budget seconds for everything
void fit_budget(Plan& plan, TimingPlan& timing, double budget, const Estimator& estimator);

}  // namespace headroom::plan
