// Measures rivals of one shape in this process: each is checked, then all are timed together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "measure/check.hpp"
#include "measure/crew/crew.hpp"
#include "measure/round.hpp"
#include "plan/admission.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/environment.hpp"

namespace headroom::measure {

/// Seconds without a sign of life after which a process is taken for hung, unless the user says.
inline constexpr double kPatience = 300;

struct MeasureSettings {
  plan::TimingPlan timing;
  std::uint64_t seed = 1;
  plan::Limits limits;                   ///< memory is for everything a group holds at once
  std::function<double()> seconds_left;  ///< of the whole sweep's budget; empty without one
  std::function<bool()> stopped;         ///< called often; true drops what is not finished
  std::optional<double> timeout;         ///< see `SweepSettings::timeout`
  record::Peaks peaks;
  /// `fma` and `tile` run beside each sample; `read` empties the caches, and is required for cold
  /// ones. All may be null.
  machine::LimitKernels kernels = {};
  Crew* crew = nullptr;  ///< for cells of several ranks; null if there is one process

  /// Why a cell is skipped, by its estimate and by what is left; empty if it is measured.
  std::string reason_to_skip(const Shape& shape, const plan::Cell& cell,
                             const plan::CellEstimate& estimate) const;
};

/// The result of a cell that is not measured, by estimates alone, before anything is allocated.
std::optional<record::CellResult> refusal_by_estimate(const plan::Group& group,
                                                      const plan::Cell& cell,
                                                      const MeasureSettings& settings,
                                                      const plan::Estimator& estimator);

struct MeasureEvents {
  std::function<void(const std::string& what)> started;
  std::function<void(const Part& part)> finished;
  /// A step begins that should take so many seconds: a pass, a sample, a check. May be empty.
  std::function<void(double expected_seconds)> working = {};
};

/// `started` passes this and the cell's id while only that cell is running.
inline constexpr const char* kCheckPrefix = "check ";

/// Each cell of the round ends in exactly one `finished`. Rivals that fit in memory together are
/// timed in one run, with their repetitions in random order.
/// @throws ResourceError if the system refuses what every cell needs, such as threads.
void measure_round(const plan::Group& group, const Problem& problem, const Round& round,
                   const MeasureSettings& settings, plan::Estimator& estimator,
                   const MeasureEvents& events);

}  // namespace headroom::measure
