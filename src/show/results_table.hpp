// Results as tables for people.
#pragma once

#include <string>
#include <vector>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/result.hpp"

namespace headroom::show {

/// A table a shape: time with its interval, GFLOP/s, share of the FMA peak, speed-up over `naive`
/// (same formulation) and over `wrapper` (same backend and threads), error beside its limit; then
/// the fastest, with all that cannot be told apart from it.
std::string results_table(const std::vector<record::CellResult>& results);

/// Half the width of the 95 % interval, in per cent of the median.
double half_width_percent(const record::TimeSummary& time);

/// For people: how much the control moved, a line for each number of threads, and the noise floor.
std::string noise_lines(const std::vector<record::CellResult>& results);

}  // namespace headroom::show
