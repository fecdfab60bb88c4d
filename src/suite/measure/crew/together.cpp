#include "measure/crew/together.hpp"

#include <cstddef>
#include <optional>
#include <string>

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"

namespace headroom::measure {
namespace {

class InProcessExecutor final : public GroupExecutor {
 public:
  using GroupExecutor::GroupExecutor;

  void measure() override {
    Round round;
    for (const std::size_t cell : admit()) round.cells.push_back({cell});
    if (round.cells.empty()) return;
    observer_.started("expected result of " + group_.shape.id());
    const std::optional<Problem> problem = try_problem(group_, settings_.seed);
    MeasureEvents inside;
    inside.started = [&](const std::string& what) { observer_.started(what); };
    inside.finished = [&](const Part& part) {
      finish(part.result.status == record::Status::ok
                 ? join_parts({part.result}, settings_.peaks, settings_.seed)
                 : part.result);
    };
    inside.stopped = [&] { return observer_.stopped(); };
    measure_round({group_, problem}, round, settings_, estimator_, inside);
  }
};

}  // namespace

std::unique_ptr<GroupExecutor> make_in_process_executor(const plan::Group& group,
                                                        const Settings& settings,
                                                        plan::Estimator& estimator,
                                                        Observer& observer) {
  return std::make_unique<InProcessExecutor>(group, settings, estimator, observer);
}

}  // namespace headroom::measure
