#include "measure/crew/together.hpp"

#include <new>
#include <optional>
#include <utility>

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"

namespace headroom::measure {
namespace {

std::optional<Problem> problem_of(const plan::Group& group, const Settings& settings) {
  try {
    return make_problem(group, settings.seed, reference::Data::standard, plan::kCheckFlops);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

class InProcessExecutor final : public GroupExecutor {
 public:
  InProcessExecutor(const plan::Group& group, const Settings& settings, plan::Estimator& estimator,
                    Observer& observer)
      : group_(group), settings_(settings), estimator_(estimator), observer_(observer) {}

  void measure() override {
    const Round round = admitted();
    if (round.cells.empty()) return;
    observer_.started("expected result of " + group_.shape.id());
    const std::optional<Problem> problem = problem_of(group_, settings_);
    if (!problem) {
      refuse(round);
      return;
    }
    MeasureEvents inside;
    inside.started = [&](const std::string& what) { observer_.started(what); };
    inside.finished = [&](const Part& part) {
      finish(part.result.status == record::Status::ok
                 ? join_parts({part.result}, settings_.peaks, settings_.seed)
                 : part.result);
    };
    inside.stopped = [&] { return observer_.stopped(); };
    measure_round({group_, *problem}, round, settings_, estimator_, inside);
  }

 private:
  Round admitted() {
    Round round;
    for (std::size_t i = 0; i < group_.cells.size(); ++i) {
      const auto refusal = refusal_by_estimate(group_, group_.cells[i], settings_, estimator_);
      if (refusal) {
        finish(*refusal);
      } else {
        round.cells.push_back({i});
      }
    }
    return round;
  }

  void refuse(const Round& round) {
    for (const Assignment& assigned : round.cells) {
      record::CellResult result =
          blank_result(group_, group_.cells[assigned.cell], settings_.timing, estimator_);
      result.status = record::Status::skipped;
      result.reason = "not enough memory for the weights and the expected result";
      finish(result);
    }
  }

  void finish(const record::CellResult& result) {
    learn(estimator_, result);
    observer_.finished(result);
  }

  const plan::Group& group_;
  const Settings& settings_;
  plan::Estimator& estimator_;
  Observer& observer_;
};

}  // namespace

std::unique_ptr<GroupExecutor> make_in_process_executor(const plan::Group& group,
                                                        const Settings& settings,
                                                        plan::Estimator& estimator,
                                                        Observer& observer) {
  return std::make_unique<InProcessExecutor>(group, settings, estimator, observer);
}

}  // namespace headroom::measure
