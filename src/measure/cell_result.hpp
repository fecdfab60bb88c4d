// How the result of a cell begins, and how it is joined from what several processes measured.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/environment.hpp"
#include "record/result.hpp"

namespace headroom::measure {

/// A result that holds only the cell and its estimate.
record::CellResult blank_result(const plan::Group& group, const plan::Cell& cell,
                                const plan::TimingPlan& timing, const plan::Estimator& estimator);

/// The result of a cell from its parts, one of each process: all samples, each with its process,
/// and what follows from them; the largest error; the first process's phases. `failed` if the time
/// is impossible. @param parts all `ok`, at least one, in the order of the processes
record::CellResult join_parts(std::vector<record::CellResult> parts, const record::Peaks& peaks,
                              std::uint64_t seed);

}  // namespace headroom::measure
