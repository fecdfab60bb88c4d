// Measures the rivals of one shape: each is checked, then all are timed together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "plan/admission.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/environment.hpp"
#include "record/result.hpp"

namespace headroom::measure {

struct MeasureSettings {
  plan::TimingPlan timing;
  std::uint64_t seed = 1;
  plan::Limits limits;                   ///< memory is for everything a group holds at once
  std::function<double()> seconds_left;  ///< of the whole sweep's budget; empty without one
  std::function<bool()> stopped;         ///< called often; true drops what is not finished
  std::optional<double> timeout;         ///< see `SweepSettings::timeout`
  record::Peaks peaks;
  machine::FmaKernel control = nullptr;  ///< run beside each sample; null for none
  machine::ReadKernel reader = nullptr;  ///< empties the caches; required for cold caches
};

struct MeasureEvents {
  std::function<void(const std::string& what)> started;
  std::function<void(const record::CellResult& result)> finished;
  /// A step begins that should take so many seconds: a pass, a sample, a check. May be empty.
  std::function<void(double expected_seconds)> working = {};
};

/// `started` passes this and the cell's id while only that cell is running.
inline constexpr const char* kCheckPrefix = "check ";

/// Each cell of the group ends in exactly one `finished`, unless `stopped` returns true before.
/// Rivals that fit in memory together are timed in one run, with their repetitions in random order.
void measure_group(const plan::Group& group, const MeasureSettings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events);

/// A result that holds only the cell and its estimate.
record::CellResult blank_result(const plan::Group& group, const plan::Cell& cell,
                                const plan::TimingPlan& timing, const plan::Estimator& estimator);

}  // namespace headroom::measure
