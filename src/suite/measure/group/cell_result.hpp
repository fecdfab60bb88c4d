// How the result of a cell begins, and how it is joined from what several processes measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/environment.hpp"
#include "record/result.hpp"

namespace headroom::measure {

/// A result that holds only the cell and its estimate.
record::CellResult blank_result(const plan::Group& group, const plan::Cell& cell,
                                const plan::TimingPlan& timing, const plan::Estimator& estimator);

/// The name of the unit that a cell's numbers need: `none` for f32, whatever the machine has.
std::string unit_in_use(const plan::Cell& cell);

/// What a finished cell says about those that come.
void learn(plan::Estimator& estimator, const record::CellResult& result);

/// What follows from the samples of a result and their processes, its control and its second
/// timing: the summary, the rate, the share of the peak and the ratio of both timings.
/// @param peaks what counts as the peak without a control
void rate_samples(record::CellResult& result, const record::Peaks& peaks, std::uint64_t seed);

/// The result of a cell from its parts, each of one or several processes of its own: all samples,
/// each with its process, and what follows from them; the largest error; the first part's phases.
/// `failed` if the time is impossible. @param parts all `ok`, at least one, in the order of the
/// processes
record::CellResult join_parts(const std::vector<record::CellResult>& parts,
                              const record::Peaks& peaks, std::uint64_t seed);

}  // namespace headroom::measure
