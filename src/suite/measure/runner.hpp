// The experiment: a plan becomes results, each checked, timed in processes of its own, and beside a
// control.
#pragma once

#include <vector>

#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "record/result.hpp"

namespace headroom::measure {

/// Measures every cell, the cells of a group interleaved, in processes that it forks or, with a
/// crew, in those of the ranks. Every claim that something is faster comes from here.
/// @return the finished ones; fewer than all if it was stopped
std::vector<record::CellResult> run_plan(const plan::Plan& plan, Settings settings,
                                         Observer& observer);

}  // namespace headroom::measure
