// Results as tables for people.
#pragma once

#include <string>
#include <vector>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::show {

/// One table per shape: time with its interval, GFLOP/s, share of the FMA peak, speed-up over the
/// baseline (same formulation) and over `wrapper` (same backend and threads), error and its limit.
/// Below it are the fastest cell and those that cannot be distinguished from it, its shares of both
/// roofs, and the cells whose threads had fewer cores, which have a mark, as
/// have shares above 100 %, whose reasons are below.
/// @param measured roofs of the same run; without them no cell is marked
std::string results_table(const std::vector<record::CellResult>& results,
                          const record::Peaks& measured = {});

/// Half the width of the 95 % confidence interval, as a share of the median.
double half_width(const record::TimeSummary& time);

/// For people: how much the control varied, one line per number of threads, and the noise floor.
std::string noise_lines(const std::vector<record::CellResult>& results);

}  // namespace headroom::show
