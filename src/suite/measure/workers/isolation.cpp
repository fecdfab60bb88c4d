#include "measure/workers/isolation.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"
#include "measure/workers/fork_server.hpp"
#include "measure/workers/messages.hpp"

namespace headroom::measure {
namespace {

using nlohmann::ordered_json;

constexpr const char* kAlone =
    "timed alone: a process died while the rivals of this shape were interleaved";

class IsolatedGroup {
 public:
  IsolatedGroup(const plan::Group& group, const Settings& settings, plan::Estimator& estimator,
                Observer& observer)
      : group_(group), settings_(settings), estimator_(estimator), observer_(observer) {}

  void run() {
    for (std::size_t i = 0; i < group_.cells.size(); ++i) {
      states_.push_back({group_.cells[i], {i}, {}, {}, false});
    }
    std::vector<State*> all;
    for (State& state : states_) {
      if (admitted(state)) all.push_back(&state);
    }
    measure(all);
  }

 private:
  // A cell on its way from one process to the next.
  struct State {
    plan::Cell cell;
    Assignment assigned;
    plan::SamplePlan plan;  // known once the first process has answered
    std::vector<record::CellResult> parts;
    bool finished = false;

    int process() const { return static_cast<int>(parts.size()); }
  };

  // Decides from estimates alone, before anything is allocated.
  bool admitted(State& state) {
    const auto refusal = refusal_by_estimate(group_, state.cell, settings_, estimator_);
    if (refusal) finish(state, *refusal);
    return !refusal;
  }

  // The cells are at the same process, or finished.
  void measure(std::vector<State*> cells) {
    for (;;) {
      std::erase_if(cells, [](const State* state) { return state->finished; });
      if (cells.empty() || stopped_) return;
      const int process = cells.front()->process();
      const std::optional<WorkerEnd> end = measure_process(cells, process);
      if (!end) return;
      std::vector<State*> missing;
      for (State* state : cells) {
        if (!state->finished && state->process() == process) missing.push_back(state);
      }
      if (missing.empty()) continue;
      if (missing.size() == 1) {
        crash(*missing.front(), end->complete ? "sent no readable result" : end->reason);
      } else if (State* culprit = find_culprit(*end)) {
        crash(*culprit, end->reason);
        std::erase(missing, culprit);
        measure(missing);
      } else {
        for (State* state : missing) measure_alone(*state);
      }
    }
  }

  void measure_alone(State& state) {
    state.cell.warnings.emplace_back(kAlone);
    measure({&state});
  }

  std::optional<WorkerEnd> measure_process(const std::vector<State*>& cells, int process) {
    Round round{process, {}};
    for (State* state : cells) {
      if (process > 0) state->assigned.samples = state->plan.share(process);
      round.cells.push_back(state->assigned);
    }
    if (!server_) server_ = std::make_unique<ForkServer>(group_, settings_, estimator_);
    std::optional<WorkerEnd> end = server_->measure(
        round, {[this](const std::string& what) { observer_.started(what); },
                [this](const std::string& text) { take(text); },
                [this] { return observer_.stopped(); }, settings_.timeout.value_or(kPatience)});
    stopped_ = !end;
    if (!end || end->server_lost) server_.reset();
    return end;
  }

  State* find(const std::string& id) {
    const auto match = std::find_if(states_.begin(), states_.end(), [&](const State& state) {
      return !state.finished && state.cell.id == id;
    });
    return match == states_.end() ? nullptr : &*match;
  }

  // The cell that was running alone when the process died, or null if there were several.
  State* find_culprit(const WorkerEnd& end) {
    if (end.complete || !end.last_start.starts_with(kCheckPrefix)) return nullptr;
    return find(end.last_start.substr(std::string(kCheckPrefix).size()));
  }

  void take(const std::string& text) {
    try {
      Part part = part_from_text(text);
      State* state = find(part.result.cell.id);
      if (state == nullptr) return;
      // A line does not hold these.
      part.result.shape = group_.shape;
      part.result.cell = state->cell;
      part.result.cell.chosen = part.result.choice ? part.result.choice->backend : "";
      take(*state, std::move(part));
    } catch (const ordered_json::exception&) {
      // A backend that overwrites memory may send anything; its cell gets no result.
    } catch (const InvalidArgument&) {
    }
  }

  void take(State& state, Part part) {
    if (part.result.status != record::Status::ok) {
      finish(state, part.result);
      return;
    }
    if (state.parts.empty()) {
      state.plan = part.plan;
      state.assigned.iterations = part.iterations;
      state.assigned.forward = part.forward;
      state.assigned.twice = part.result.again.has_value();
    }
    state.parts.push_back(std::move(part.result));
    if (state.process() < state.plan.processes) return;
    record::CellResult whole = join_parts(state.parts, settings_.peaks, settings_.seed);
    whole.cell.warnings = state.cell.warnings;
    finish(state, whole);
  }

  void crash(State& state, const std::string& reason) {
    record::CellResult result = blank_result(group_, state.cell, settings_.timing, estimator_);
    result.status = record::Status::crashed;
    result.reason = reason;
    finish(state, result);
  }

  void finish(State& state, const record::CellResult& result) {
    // What a process's estimator learned about times is lost with it.
    learn(estimator_, result);
    state.finished = true;
    observer_.finished(result, record::to_json(result));
  }

  const plan::Group& group_;
  const Settings& settings_;
  plan::Estimator& estimator_;
  Observer& observer_;
  std::vector<State> states_;
  std::unique_ptr<ForkServer> server_;
  bool stopped_ = false;
};

}  // namespace

void measure_group_isolated(const plan::Group& group, const Settings& settings,
                            plan::Estimator& estimator, Observer& observer) {
  IsolatedGroup(group, settings, estimator, observer).run();
}

}  // namespace headroom::measure
