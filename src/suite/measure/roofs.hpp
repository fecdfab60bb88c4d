// The limits of the hardware, measured once per sweep.
#pragma once

#include <set>

#include "headroom/precision.hpp"
#include "machine/meters/peak.hpp"
#include "plan/cell.hpp"
#include "record/environment.hpp"

namespace headroom::measure {

/// FMA peak, its clock, whether it is sustained, the rate of register tiles, and read bandwidth for
/// these numbers of threads.
/// Empty without kernels; what was not measured before a stop is missing.
record::Peaks measure_peaks(const Target& target, const std::set<int>& threads,
                            machine::LimitKernelsOf limits_of,
                            const machine::Stopped& stopped = {});

/// Adds the rates of products of these precisions, where the unit has them.
/// @throws Unavailable if the unit that the facts promise does not compute, see `try_unit`.
void measure_products(record::Peaks& peaks, const std::set<int>& threads,
                      const std::set<Precision>& precisions, machine::LimitKernelsOf limits_of,
                      const machine::Stopped& stopped = {});

/// Threads of all ranks that read at the same time, as far as this machine has cores for them:
/// whose bandwidth is the roof of a cell.
int reading_threads(int ranks, int threads);

/// Likewise for every number of threads that the plan uses; and read bandwidth at the working sets
/// of its cells with few rows, once for each power of two.
record::Peaks measure_peaks(const plan::Plan& plan, machine::LimitKernelsOf limits_of,
                            const machine::Stopped& stopped = {});

/// About how many seconds that takes, before the first cell; 0 without kernels.
double seconds_to_measure_peaks(const plan::Plan& plan, machine::LimitKernelsOf limits_of);

}  // namespace headroom::measure
