// How cells are measured, by whichever command.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "machine/counters/usage_meter.hpp"
#include "machine/meters/peak.hpp"
#include "plan/admission.hpp"
#include "plan/timing_plan.hpp"
#include "record/peaks.hpp"

namespace headroom::measure {

class Crew;

/// Seconds without a sign of life after which a process is taken for hung, unless the user says.
inline constexpr double kPatience = 300;

struct Settings {
  plan::TimingPlan timing;
  std::uint64_t seed = 1;
  /// Bytes for everything that a group holds at once.
  std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max();
  std::optional<double> budget;  ///< seconds for the whole plan
  /// Seconds without a message after which the measuring process is considered hung and is ended,
  /// plus ten times what it said its current step should take. The default is `kPatience`.
  std::optional<double> timeout;
  record::Peaks peaks;
  /// `fma` and `tile` run beside each sample; `read` empties the caches, and is required for cold
  /// ones. All may be null.
  machine::LimitKernels kernels = {};
  /// Read beside each sample; nothing is read if empty.
  std::optional<machine::UsageSources> usage;
  Crew* crew = nullptr;  ///< for cells of several ranks; null if there is one process
  std::function<double()> seconds_left;  ///< of the budget, while a plan runs; empty without one

  /// Why a cell is skipped, by its estimate and by what is left; empty if it is measured.
  std::string reason_to_skip(const Case& shape, const plan::Cell& cell,
                             const plan::CellEstimate& estimate) const;
  /// What a cell may use, but for the budget.
  plan::Limits limits() const;
};

/// With the control beside each sample, if this build has its kernels, and all memory that is free.
/// @param limits_of may be null
Settings settings_for(const Target& target, machine::LimitKernelsOf limits_of);

}  // namespace headroom::measure
