// Measures the rivals of one shape in several processes, and finds out which one killed its own.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

struct IsolatedEvents {
  std::function<void(const std::string& what)> started;
  /// @param line to be written to `results.jsonl`.
  std::function<void(const record::CellResult& result, const nlohmann::ordered_json& line)>
      finished;
};

/// Each cell of the group ends in exactly one `finished`, unless `settings.stopped` returns true
/// before. The samples of a cell come from as many processes as its `plan::SamplePlan` says, one
/// after the other, with the rivals interleaved in each. A cell that ends its process is `crashed`
/// with the reason, and the others continue in a new one. If the process died while several rivals
/// were interleaved, each of them runs in processes of its own, so that the one that dies is known.
void measure_group_isolated(const plan::Group& group, const MeasureSettings& settings,
                            plan::Estimator& estimator, const IsolatedEvents& events);

}  // namespace headroom::measure
