// Measures the rivals of one shape in worker processes, and finds out which one killed its worker.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

struct IsolatedEvents {
  std::function<void(const std::string& what)> started;
  /// @param line to be written to `results.jsonl`.
  std::function<void(const record::CellResult& result, const nlohmann::ordered_json& line)>
      finished;
};

/// As `measure_group`, but a cell that ends its process is `crashed` with the reason, and the
/// others continue in a new process. If the process died while several rivals were interleaved,
/// each of them runs again in its own process, so that the one that dies is known.
void measure_group_isolated(const plan::Group& group, const MeasureSettings& settings,
                            plan::Estimator& estimator, const IsolatedEvents& events);

}  // namespace headroom::measure
