// Runs a plan from the first group to the last and writes the results down as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/meters/peak.hpp"
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
  /// Seconds without a sign from the process that measures, after which it is taken for hung and
  /// ended; ten times what it said that its present step should take come on top. Without a value
  /// it is five minutes.
  std::optional<double> timeout;
  machine::FmaKernel control = nullptr;  ///< run beside each sample; null for none
  machine::ReadKernel reader = nullptr;  ///< empties the caches; needed if they are to be cold
};

/// Measures every cell. Stops early when a signal asks for it; finished cells are in the journal.
std::vector<record::CellResult> run_plan(const plan::Plan& plan, const SweepSettings& settings,
                                         const record::Peaks& peaks, record::Journal& journal,
                                         Progress& progress);

}  // namespace headroom::measure
