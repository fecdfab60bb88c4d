#include "measure/runner.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "measure/crew/together.hpp"
#include "measure/workers/isolation.hpp"
#include "plan/budget.hpp"

namespace headroom::measure {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Passes on what an executor says, keeps the results, and knows how long the rest will take.
class Collector final : public Observer {
 public:
  Collector(const plan::Plan& plan, const Settings& settings, Observer& observer)
      : plan_(plan), settings_(settings), observer_(observer) {}

  void started(const std::string& what) override { observer_.started(what); }
  bool stopped() override { return observer_.stopped(); }
  void finished(const record::CellResult& result) override {
    results.push_back(result);
    update_seconds_left();
    observer_.finished(result);
  }

  void begin(std::size_t group) {
    group_ = group;
    group_start_ = Clock::now();
    later_groups_ = 0;
    for (std::size_t i = group + 1; i < plan_.groups.size(); ++i) {
      later_groups_ += seconds_of_group(plan_.groups[i]);
    }
    update_seconds_left();
  }

  void end() {
    taken_ += seconds_since(group_start_);
    modelled_ += seconds_of_group(plan_.groups[group_]);
  }

  plan::Estimator estimator;
  std::vector<record::CellResult> results;

 private:
  double seconds_of_group(const plan::Group& group) const {
    return plan::seconds_of(group, settings_.timing, estimator, settings_.limits());
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
  const Settings& settings_;
  Observer& observer_;
  Clock::time_point group_start_;
  std::size_t group_ = 0;
  double later_groups_ = 0;  // summed once per group, because a long sweep has many
  double taken_ = 0;         // seconds for the finished groups
  double modelled_ = 0;
};

}  // namespace

std::vector<record::CellResult> run_plan(const plan::Plan& plan, Settings settings,
                                         Observer& observer) {
  if (settings.budget) {
    settings.seconds_left = [start = Clock::now(), budget = *settings.budget] {
      return budget - seconds_since(start);
    };
  }
  const auto make_executor =
      settings.crew != nullptr ? make_in_process_executor : make_forked_executor;
  Collector collector(plan, settings, observer);
  observer.planned(plan.cell_count());
  for (std::size_t i = 0; i < plan.groups.size() && !observer.stopped(); ++i) {
    collector.begin(i);
    make_executor(plan.groups[i], settings, collector.estimator, collector)->measure();
    collector.end();
  }
  return std::move(collector.results);
}

}  // namespace headroom::measure
