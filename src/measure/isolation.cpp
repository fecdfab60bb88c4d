#include "measure/isolation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "measure/worker.hpp"

namespace headroom::measure {
namespace {

using nlohmann::ordered_json;

constexpr const char* kAlone =
    "timed alone: a process died while the rivals of this shape were interleaved";

constexpr double kPatience = 300;  // seconds

class IsolatedGroup {
 public:
  IsolatedGroup(const plan::Group& group, const MeasureSettings& settings,
                plan::Estimator& estimator, const IsolatedEvents& events)
      : left_(group), settings_(settings), estimator_(estimator), events_(events) {}

  void run() {
    while (!left_.cells.empty()) {
      const std::optional<WorkerEnd> end = run_in_worker(left_);
      if (!end) return;
      if (left_.cells.empty()) return;
      if (const plan::Cell* culprit = find_culprit(*end)) {
        crash(*culprit, end->reason);
      } else {
        return run_each_alone();
      }
    }
  }

 private:
  std::optional<WorkerEnd> run_in_worker(const plan::Group& group) {
    // A copy, because `left_` changes with every event.
    const plan::Group cells = group;
    return run_worker(cells, settings_, estimator_,
                      {events_.started, [this](const std::string& line) { finished(line); },
                       [this] { return settings_.stopped && settings_.stopped(); },
                       settings_.timeout.value_or(kPatience)});
  }

  void run_each_alone() {
    for (plan::Cell& cell : std::vector<plan::Cell>(left_.cells)) {
      cell.warnings.emplace_back(kAlone);
      const std::optional<WorkerEnd> end = run_in_worker({left_.shape, {cell}});
      if (!end) return;
      if (find(cell.id) != nullptr) {
        crash(cell, end->complete ? "sent no readable result" : end->reason);
      }
    }
  }

  const plan::Cell* find(const std::string& id) const {
    const auto match = std::find_if(left_.cells.begin(), left_.cells.end(),
                                    [&](const plan::Cell& cell) { return cell.id == id; });
    return match == left_.cells.end() ? nullptr : &*match;
  }

  // The cell that was running alone when the worker died, or null if there were several.
  const plan::Cell* find_culprit(const WorkerEnd& end) const {
    if (end.complete || !end.last_start.starts_with(kCheckPrefix)) return nullptr;
    return find(end.last_start.substr(std::string(kCheckPrefix).size()));
  }

  void finished(const std::string& text) {
    try {
      const ordered_json line = ordered_json::parse(text);
      record::CellResult result = record::from_json(line);
      const plan::Cell* cell = find(result.cell.id);
      if (cell == nullptr) return;
      // A line does not hold these.
      result.shape = left_.shape;
      result.cell.order = cell->order;
      result.cell.isa = cell->isa;
      finish(result, line);
    } catch (const ordered_json::exception&) {
      // A backend that overwrites memory may send anything; its cell gets no result.
    } catch (const InvalidArgument&) {
    }
  }

  void crash(const plan::Cell& cell, const std::string& reason) {
    record::CellResult result = blank_result(left_, cell, settings_.timing, estimator_);
    result.status = record::Status::crashed;
    result.reason = reason;
    finish(result, to_json(result));
  }

  void finish(const record::CellResult& result, const ordered_json& line) {
    // What the worker's estimator learned about times is lost with its process.
    if (result.status == record::Status::ok) {
      estimator_.observe(left_.shape, result.cell, result.time.median);
    }
    if (result.costs) {
      estimator_.observe_setup(left_.shape, result.cell, result.costs->setup_seconds);
    }
    std::erase_if(left_.cells, [&](const plan::Cell& cell) { return cell.id == result.cell.id; });
    events_.finished(result, line);
  }

  plan::Group left_;
  const MeasureSettings& settings_;
  plan::Estimator& estimator_;
  const IsolatedEvents& events_;
};

}  // namespace

void measure_group_isolated(const plan::Group& group, const MeasureSettings& settings,
                            plan::Estimator& estimator, const IsolatedEvents& events) {
  IsolatedGroup(group, settings, estimator, events).run();
}

}  // namespace headroom::measure
