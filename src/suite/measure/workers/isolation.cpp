#include "measure/workers/isolation.hpp"

#include <algorithm>
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

// A cell on its way from one process to the next.
struct State {
  plan::Cell cell;
  Assignment assigned;
  plan::SamplePlan plan;  // known once the first process has answered
  std::vector<record::CellResult> parts;
  bool finished = true;  // until it is admitted

  int process() const { return static_cast<int>(parts.size()); }
};

class ForkedExecutor final : public GroupExecutor {
 public:
  ForkedExecutor(const plan::Group& group, const Settings& settings, plan::Estimator& estimator,
                 Observer& observer)
      : GroupExecutor(group, settings, estimator, observer) {
    for (std::size_t i = 0; i < group_.cells.size(); ++i) {
      states_.push_back({group_.cells[i], {i}, {}, {}});
    }
  }

  void measure() override {
    std::vector<State*> all;
    for (const std::size_t cell : admit()) {
      states_[cell].finished = false;
      all.push_back(&states_[cell]);
    }
    batches_.push_back(std::move(all));
    while (!batches_.empty()) {
      std::vector<State*> cells = std::move(batches_.back());
      batches_.pop_back();
      std::erase_if(cells, [](const State* state) { return state->finished; });
      if (cells.empty()) continue;
      const int process = cells.front()->process();
      begin(cells, process);
      while (const auto part = server_->next(observer_, settings_.timeout.value_or(kPatience))) {
        if (const auto whole = joined(*part)) finish_cell(*whole);
      }
      const WorkerEnd end = server_->end();
      if (end.server_lost) server_.reset();
      if (end.stopped) return;
      go_on(cells, process, end);
    }
  }

 private:
  // What is measured next, the last batch first. All cells of a batch are at the same process.
  void go_on(std::vector<State*> cells, int process, const WorkerEnd& end) {
    std::vector<State*> missing;
    std::erase_if(cells, [&](State* state) {
      const bool lost = !state->finished && state->process() == process;
      if (lost) missing.push_back(state);
      return lost;
    });
    batches_.push_back(std::move(cells));
    if (missing.size() == 1) {
      crash(*missing.front(), end.complete ? "sent no readable result" : end.reason);
    } else if (State* culprit = find_culprit(end)) {
      crash(*culprit, end.reason);
      std::erase(missing, culprit);
      batches_.push_back(std::move(missing));
    } else {
      for (auto state = missing.rbegin(); state != missing.rend(); ++state) {
        (*state)->cell.warnings.emplace_back(kAlone);
        batches_.push_back({*state});
      }
    }
  }

  void begin(const std::vector<State*>& cells, int process) {
    Round round{process, {}};
    for (State* state : cells) {
      if (process > 0) state->assigned.samples = state->plan.share(process);
      round.cells.push_back(state->assigned);
    }
    if (!server_) server_ = std::make_unique<ForkServer>(group_, settings_, estimator_);
    server_->begin(round);
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

  // The result of the cell that a part belongs to, if it was the last one.
  std::optional<record::CellResult> joined(const std::string& text) {
    try {
      Part part = part_from_text(text);
      State* state = find(part.result.cell.id);
      if (state == nullptr) return std::nullopt;
      // A line does not hold these.
      part.result.shape = group_.shape;
      part.result.cell = state->cell;
      part.result.cell.chosen = part.result.choice ? part.result.choice->backend : "";
      return joined(*state, std::move(part));
    } catch (const ordered_json::exception&) {
      // A backend that overwrites memory may send anything; its cell gets no result.
    } catch (const InvalidArgument&) {
    }
    return std::nullopt;
  }

  std::optional<record::CellResult> joined(State& state, Part part) const {
    if (part.result.status != record::Status::ok) return std::move(part.result);
    if (state.parts.empty()) {
      state.plan = part.plan;
      state.assigned.iterations = part.iterations;
      state.assigned.forward = part.forward;
      state.assigned.twice = part.result.again.has_value();
    }
    state.parts.push_back(std::move(part.result));
    if (state.process() < state.plan.processes) return std::nullopt;
    record::CellResult whole = join_parts(state.parts, settings_.peaks, settings_.seed);
    whole.cell.warnings = state.cell.warnings;
    return whole;
  }

  void crash(const State& state, const std::string& reason) {
    record::CellResult result = blank_result(group_, state.cell, settings_.timing, estimator_);
    result.status = record::Status::crashed;
    result.reason = reason;
    finish_cell(result);
  }

  void finish_cell(const record::CellResult& result) {
    find(result.cell.id)->finished = true;
    finish(result);
  }

  std::vector<State> states_;
  std::vector<std::vector<State*>> batches_;
  std::unique_ptr<ForkServer> server_;
};

}  // namespace

std::unique_ptr<GroupExecutor> make_forked_executor(const plan::Group& group,
                                                    const Settings& settings,
                                                    plan::Estimator& estimator,
                                                    Observer& observer) {
  return std::make_unique<ForkedExecutor>(group, settings, estimator, observer);
}

}  // namespace headroom::measure
