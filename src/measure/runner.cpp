#include "measure/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "measure/crew/together.hpp"
#include "measure/workers/isolation.hpp"
#include "plan/budget.hpp"
#include "program/signals.hpp"

namespace headroom::measure {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Runner {
 public:
  Runner(const plan::Plan& plan, const SweepSettings& settings, const record::Peaks& peaks,
         record::Journal& journal, Progress& progress)
      : plan_(plan), settings_(settings), journal_(journal), progress_(progress) {
    measure_.timing = settings.timing;
    measure_.seed = settings.seed;
    measure_.limits.memory_bytes = settings.memory_limit;
    measure_.limits.more_memory = "raise --max-memory if there is more memory";
    measure_.peaks = peaks;
    measure_.timeout = settings.timeout;
    measure_.kernels = settings.kernels;
    measure_.crew = settings.crew;
    measure_.stopped = [this] {
      progress_.tick();
      return stop_signal() != 0;
    };
    measure_.limits.cell_seconds = settings.timing.cell_limit;
    if (settings.budget) {
      measure_.seconds_left = [this] { return *settings_.budget - seconds_since(start_); };
    }
  }

  std::vector<record::CellResult> run() {
    const IsolatedEvents events{[this](const std::string& what) { progress_.started(what); },
                                [this](const record::CellResult& result, const ordered_json& line) {
                                  finished(result, line);
                                }};
    for (; group_ < plan_.groups.size() && stop_signal() == 0; ++group_) {
      const plan::Group& group = plan_.groups[group_];
      later_groups_ = seconds_of_groups_after(group_);
      group_start_ = Clock::now();
      update_seconds_left();
      (settings_.crew != nullptr ? measure_group_together : measure_group_isolated)(
          group, measure_, estimator_, events);
      taken_ += seconds_since(group_start_);
      modelled_ += seconds_of_group(group);
    }
    return std::move(results_);
  }

 private:
  void finished(const record::CellResult& result, const ordered_json& line) {
    journal_.append(line);
    results_.push_back(result);
    update_seconds_left();
    progress_.finished(result);
  }

  double seconds_of_group(const plan::Group& group) const {
    return plan::seconds_of(group, settings_.timing, estimator_, measure_.limits);
  }

  double seconds_of_groups_after(std::size_t group) const {
    double seconds = 0;
    for (std::size_t i = group + 1; i < plan_.groups.size(); ++i) {
      seconds += seconds_of_group(plan_.groups[i]);
    }
    return seconds;
  }

  // The rivals of a shape are interleaved and finish at nearly the same time, so the number of
  // finished ones says little.
  void update_seconds_left() {
    const double group = seconds_of_group(plan_.groups[group_]) * pace();
    const double left = std::max(0.0, group - seconds_since(group_start_));
    progress_.set_seconds_left(later_groups_ * pace() + left);
  }

  // The time that the finished shapes took, over what the estimator as it is now says for them.
  double pace() const { return modelled_ > 0 && taken_ > 0 ? taken_ / modelled_ : 1; }

  const plan::Plan& plan_;
  const SweepSettings& settings_;
  record::Journal& journal_;
  Progress& progress_;
  MeasureSettings measure_;
  plan::Estimator estimator_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point group_start_ = start_;
  std::size_t group_ = 0;
  double later_groups_ = 0;  // summed once per group, because a long sweep has many
  double taken_ = 0;         // seconds for the finished groups
  double modelled_ = 0;
  std::vector<record::CellResult> results_;
};

}  // namespace

std::vector<record::CellResult> run_plan(const plan::Plan& plan, const SweepSettings& settings,
                                         const record::Peaks& peaks, record::Journal& journal,
                                         Progress& progress) {
  return Runner(plan, settings, peaks, journal, progress).run();
}

}  // namespace headroom::measure
