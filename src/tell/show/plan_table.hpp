// What a sweep would run.
#pragma once

#include <string>

#include "plan/admission.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::show {

/// Every cell with its memory and time, whether it would be skipped, and the total.
/// @param seconds of all together
std::string plan_table(const plan::Plan& plan, const plan::TimingPlan& timing,
                       const plan::Estimator& estimator, const plan::Limits& limits,
                       double seconds);

}  // namespace headroom::show
