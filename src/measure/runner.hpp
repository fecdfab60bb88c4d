// Runs a plan from the first group to the last and records each result as it arrives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/meters/peak.hpp"
#include "measure/crew/crew.hpp"
#include "measure/progress.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/environment.hpp"
#include "record/journal.hpp"
#include "record/result.hpp"

namespace headroom::measure {

struct SweepSettings {
  plan::TimingPlan timing;
  std::uint64_t seed = 1;
  std::int64_t memory_limit = 0;
  std::optional<double> budget;  ///< seconds for the whole sweep
  /// Seconds without a message after which the measuring process is considered hung and is ended,
  /// plus ten times what it said its current step should take. The default is five minutes.
  std::optional<double> timeout;
  machine::LimitKernels kernels = {};  ///< see `MeasureSettings::kernels`
  Crew* crew = nullptr;                ///< if several processes were started for ranks
};

/// Measures every cell. A signal stops it early; finished cells are in the journal.
std::vector<record::CellResult> run_plan(const plan::Plan& plan, const SweepSettings& settings,
                                         const record::Peaks& peaks, record::Journal& journal,
                                         Progress& progress);

}  // namespace headroom::measure
