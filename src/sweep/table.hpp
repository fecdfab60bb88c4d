// Results as tables for people.
#pragma once

#include <string>
#include <vector>

#include "sweep/cells.hpp"
#include "sweep/estimate.hpp"
#include "sweep/result.hpp"

namespace headroom::sweep {

/// A table a shape: time with its interval, GFLOP/s, share of the FMA peak, speed-up over `naive`
/// (same formulation) and over `wrapper` (same backend and threads), error beside its limit; then
/// the fastest, with all that cannot be told apart from it.
std::string results_table(const std::vector<CellResult>& results);

/// Half the width of the 95 % interval, in per cent of the median.
double half_width_percent(const TimeSummary& time);

/// What would run: every cell with its memory and time.
std::string plan_table(const Plan& plan, const TimingPlan& timing, const Estimator& estimator,
                       std::int64_t memory_limit, bool budgeted);

}  // namespace headroom::sweep
