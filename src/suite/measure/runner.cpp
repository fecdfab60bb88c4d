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

namespace headroom::measure {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Runner final : Observer {
 public:
  Runner(const plan::Plan& plan, Settings settings, Observer& observer)
      : plan_(plan), settings_(std::move(settings)), observer_(observer) {
    if (settings_.budget) {
      settings_.seconds_left = [this] { return *settings_.budget - seconds_since(start_); };
    }
  }

  std::vector<record::CellResult> run() {
    observer_.planned(plan_.cell_count());
    for (; group_ < plan_.groups.size() && !stopped(); ++group_) {
      const plan::Group& group = plan_.groups[group_];
      later_groups_ = seconds_of_groups_after(group_);
      group_start_ = Clock::now();
      update_seconds_left();
      (settings_.crew != nullptr ? measure_group_together : measure_group_isolated)(
          group, settings_, estimator_, *this);
      taken_ += seconds_since(group_start_);
      modelled_ += seconds_of_group(group);
    }
    return std::move(results_);
  }

 private:
  void started(const std::string& what) override { observer_.started(what); }
  bool stopped() override { return observer_.stopped(); }
  void finished(const record::CellResult& result, const ordered_json& line) override {
    results_.push_back(result);
    update_seconds_left();
    observer_.finished(result, line);
  }

  double seconds_of_group(const plan::Group& group) const {
    return plan::seconds_of(group, settings_.timing, estimator_, settings_.limits());
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
    observer_.seconds_left(later_groups_ * pace() + left);
  }

  // The time that the finished shapes took, over what the estimator as it is now says for them.
  double pace() const { return modelled_ > 0 && taken_ > 0 ? taken_ / modelled_ : 1; }

  const plan::Plan& plan_;
  Settings settings_;
  Observer& observer_;
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

std::vector<record::CellResult> run_plan(const plan::Plan& plan, Settings settings,
                                         Observer& observer) {
  return Runner(plan, std::move(settings), observer).run();
}

}  // namespace headroom::measure
