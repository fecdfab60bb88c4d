// Measures rivals of one shape in this process: each is checked, then all are timed together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "measure/group/check.hpp"
#include "measure/group/round.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::measure {

/// The result of a cell that is not measured, by estimates alone, before anything is allocated.
std::optional<record::CellResult> refusal_by_estimate(const plan::Group& group,
                                                      const plan::Cell& cell,
                                                      const Settings& settings,
                                                      const plan::Estimator& estimator);

struct MeasureEvents {
  std::function<void(const std::string& what)> started;
  std::function<void(const Part& part)> finished;
  /// A step begins that should take so many seconds: a pass, a sample, a check. May be empty.
  std::function<void(double expected_seconds)> working = {};
  /// Called often; true drops what is not finished. Empty in a process that is ended from outside.
  std::function<bool()> stopped = {};
};

/// `started` passes this and the cell's id while only that cell is running.
inline constexpr const char* kCheckPrefix = "check ";

/// Cells, and what they are checked and timed with: none if memory was too small for it.
struct PreparedGroup {
  const plan::Group& group;
  const std::optional<Problem>& problem;
};

/// Each cell of the round ends in exactly one `finished`: `skipped` without a problem. Rivals that
/// fit in memory together are timed in one run, with their repetitions in random order.
/// @throws ResourceError if the system refuses what every cell needs, such as threads.
void measure_round(const PreparedGroup& prepared, const Round& round, const Settings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events);

}  // namespace headroom::measure
