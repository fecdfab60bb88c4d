#include "measure/group/group_executor.hpp"

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"

namespace headroom::measure {

std::vector<std::size_t> GroupExecutor::admit() {
  std::vector<std::size_t> admitted;
  for (std::size_t i = 0; i < group_.cells.size(); ++i) {
    const auto refusal = refusal_by_estimate(group_, group_.cells[i], settings_, estimator_);
    refusal ? finish(*refusal) : admitted.push_back(i);
  }
  return admitted;
}

void GroupExecutor::finish(const record::CellResult& result) {
  // What the estimator of a forked process learned about times is lost with it.
  learn(estimator_, result);
  observer_.finished(result);
}

}  // namespace headroom::measure
