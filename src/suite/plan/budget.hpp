// How long a plan takes, and how it is made to fit a budget.
#pragma once

#include "plan/admission.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::plan {

/// Seconds for the cells of one shape that these limits admit, including what they share; 0 if
/// there are none.
double seconds_of(const Group& group, const TimingPlan& timing, const Estimator& estimator,
                  const Limits& limits);

/// The same for all shapes.
double plan_seconds(const Plan& plan, const TimingPlan& timing, const Estimator& estimator,
                    const Limits& limits = {});

/// What a budget must be for every cell to be measured with the fewest repetitions.
double least_budget(const Plan& plan, TimingPlan timing, const Estimator& estimator);

/// Makes the plan fit a budget: first by lowering the repetitions, then by marking the most
/// expensive cells as skipped, with their estimate.
/// @param budget seconds for everything
void fit_budget(Plan& plan, TimingPlan& timing, double budget, const Estimator& estimator);

}  // namespace headroom::plan
