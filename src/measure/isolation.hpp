// Measures the rivals of one shape in worker processes, and finds out which one killed its worker.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

struct IsolatedEvents {
  std::function<void(const std::string& what)> started;
  /// @param line as it is to stand in `results.jsonl`.
  std::function<void(const record::CellResult& result, const nlohmann::ordered_json& line)>
      finished;
};

/// As `measure_group`, but a cell that ends its process is `crashed` with the reason, and the
/// others go on in a new process. If the process died while several rivals took turns, each of
/// those runs again in a process of its own: then the one that dies is the culprit.
void measure_group_isolated(const plan::Group& group, const MeasureSettings& settings,
                            plan::Estimator& estimator, const IsolatedEvents& events);

}  // namespace headroom::measure
