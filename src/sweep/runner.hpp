// Runs a plan from the first group to the last and writes the results down as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "machine/peak.hpp"
#include "sweep/cells.hpp"
#include "sweep/environment.hpp"
#include "sweep/estimate.hpp"
#include "sweep/journal.hpp"
#include "sweep/progress.hpp"
#include "sweep/result.hpp"

namespace headroom::sweep {

struct SweepSettings {
  TimingPlan timing;
  std::uint64_t seed = 1;
  std::int64_t memory_limit = 0;
  std::optional<double> budget;  ///< seconds for the whole sweep
  /// Seconds without a sign from the process that measures, after which it is taken for hung and
  /// ended. Without a value it is five minutes and ten times what the cells should take.
  std::optional<double> timeout;
  machine::FmaKernel control = nullptr;  ///< run beside each sample; null for none
  machine::ReadKernel reader = nullptr;  ///< empties the caches; needed if they are to be cold
};

/// Seconds that one cell may take where no budget is given.
inline constexpr double kCellLimitSeconds = 60;

/// Memory that a sweep may use: what the machine has left, less a tenth for everything else, or
/// `asked` if that is less.
std::int64_t usable_memory(std::optional<std::int64_t> asked);

/// Seconds of the whole plan, without cells that are marked as skipped.
double plan_seconds(const Plan& plan, const TimingPlan& timing, const Estimator& estimator);

/// Makes the plan fit its budget: first with fewer repetitions, then by marking the dearest cells
/// as skipped, with their estimate.
void fit_budget(Plan& plan, SweepSettings& settings, const Estimator& estimator);

/// FMA peak and read bandwidth for every thread count that the plan uses. Empty without kernels.
Peaks measure_peaks(const Plan& plan, machine::LimitKernelsOf limits_of);
Peaks measure_peaks(Isa isa, const std::set<int>& threads, machine::LimitKernelsOf limits_of);

/// Measures every cell. Stops early when a signal asks for it; finished cells are in the journal.
std::vector<CellResult> run_sweep(const Plan& plan, const SweepSettings& settings,
                                  const Peaks& peaks, Journal& journal, Progress& progress);

}  // namespace headroom::sweep
