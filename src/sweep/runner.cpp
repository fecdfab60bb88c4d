#include "sweep/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "machine/caches.hpp"
#include "machine/memory.hpp"
#include "machine/processor.hpp"
#include "sweep/cache_state.hpp"
#include "sweep/interrupt.hpp"
#include "sweep/isolation.hpp"
#include "sweep/numbers.hpp"

namespace headroom::sweep {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Runner {
 public:
  Runner(const Plan& plan, const SweepSettings& settings, const Peaks& peaks, Journal& journal,
         Progress& progress)
      : plan_(plan), settings_(settings), journal_(journal), progress_(progress) {
    measure_.timing = settings.timing;
    measure_.seed = settings.seed;
    measure_.memory_limit = settings.memory_limit;
    measure_.peaks = peaks;
    measure_.timeout = settings.timeout;
    measure_.control = settings.control;
    measure_.reader = settings.reader;
    measure_.stopped = [this] {
      progress_.tick();
      return stop_signal() != 0;
    };
    if (settings.budget) {
      measure_.seconds_left = [this] { return *settings_.budget - seconds_since(start_); };
    } else {
      measure_.cell_limit = kCellLimitSeconds;
    }
  }

  std::vector<CellResult> run() {
    const IsolatedEvents events{
        [this](const std::string& what) { progress_.started(what); },
        [this](const CellResult& result, const ordered_json& line) { finished(result, line); }};
    for (; group_ < plan_.groups.size() && stop_signal() == 0; ++group_) {
      const Group& group = plan_.groups[group_];
      later_groups_ = seconds_of_groups_after(group_);
      group_start_ = Clock::now();
      update_seconds_left();
      measure_group_isolated(group, measure_, estimator_, events);
      taken_ += seconds_since(group_start_);
      modelled_ += seconds_of_group(group);
    }
    return std::move(results_);
  }

 private:
  void finished(const CellResult& result, const ordered_json& line) {
    journal_.append(line);
    results_.push_back(result);
    update_seconds_left();
    progress_.finished(result);
  }

  double seconds_of_group(const Group& group) const {
    double seconds = 0;
    for (const Cell& cell : group.cells) {
      if (!cell.skip_reason.empty()) continue;
      const double cost = estimator_.cell_seconds(group.shape, cell, settings_.timing);
      const bool too_dear = measure_.cell_limit && cost > *measure_.cell_limit;
      if (!too_dear) seconds += cost;
    }
    return seconds == 0 ? 0 : seconds + estimator_.group_seconds(group, settings_.timing);
  }

  double seconds_of_groups_after(std::size_t group) const {
    double seconds = 0;
    for (std::size_t i = group + 1; i < plan_.groups.size(); ++i) {
      seconds += seconds_of_group(plan_.groups[i]);
    }
    return seconds;
  }

  // The rivals of a shape take turns and are done at nearly the same time, so that how many of them
  // are done says little.
  void update_seconds_left() {
    const double group = seconds_of_group(plan_.groups[group_]) * pace();
    const double left = std::max(0.0, group - seconds_since(group_start_));
    progress_.set_seconds_left(later_groups_ * pace() + left);
  }

  // What the finished shapes took over what the model, with all it has learnt, says of them.
  double pace() const { return modelled_ > 0 && taken_ > 0 ? taken_ / modelled_ : 1; }

  const Plan& plan_;
  const SweepSettings& settings_;
  Journal& journal_;
  Progress& progress_;
  MeasureSettings measure_;
  Estimator estimator_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point group_start_ = start_;
  std::size_t group_ = 0;
  double later_groups_ = 0;  // summed once a group: a long sweep has many
  double taken_ = 0;         // seconds of the groups that are done
  double modelled_ = 0;
  std::vector<CellResult> results_;
};

}  // namespace

std::int64_t usable_memory(std::optional<std::int64_t> asked) {
  const std::int64_t limit = machine::memory_limit().bytes;
  const std::int64_t usable = limit - limit / 10;
  return asked ? std::min(*asked, usable) : usable;
}

double plan_seconds(const Plan& plan, const TimingPlan& timing, const Estimator& estimator) {
  double seconds = 0;
  for (const Group& group : plan.groups) {
    bool any = false;
    for (const Cell& cell : group.cells) {
      if (!cell.skip_reason.empty()) continue;
      any = true;
      seconds += estimator.cell_seconds(group.shape, cell, timing);
    }
    if (any) seconds += estimator.group_seconds(group, timing);
  }
  return seconds;
}

namespace {

void skip_dearest(Plan& plan, const SweepSettings& settings, const Estimator& estimator,
                  double total) {
  struct Candidate {
    double seconds;
    Cell* cell;
    const Group* group;
  };
  std::vector<Candidate> dearest;
  std::map<const Group*, std::size_t> kept;
  for (Group& group : plan.groups) {
    kept[&group] = group.cells.size();
    for (Cell& cell : group.cells) {
      dearest.push_back(
          {estimator.cell_seconds(group.shape, cell, settings.timing), &cell, &group});
    }
  }
  std::stable_sort(dearest.begin(), dearest.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  for (const Candidate& candidate : dearest) {
    if (total <= *settings.budget) return;
    candidate.cell->skip_reason =
        fmt::format("would take about {}, and the whole budget is {}",
                    format_wait(candidate.seconds), format_wait(*settings.budget));
    total -= candidate.seconds;
    // Without its last cell a shape needs no expected result either.
    if (--kept[candidate.group] == 0) {
      total -= estimator.group_seconds(*candidate.group, settings.timing);
    }
  }
}

}  // namespace

void fit_budget(Plan& plan, SweepSettings& settings, const Estimator& estimator) {
  if (!settings.budget) return;
  TimingPlan& timing = settings.timing;
  double total = plan_seconds(plan, timing, estimator);
  while (total > *settings.budget && timing.repetitions > kMinRepetitions) {
    --timing.repetitions;
    total = plan_seconds(plan, timing, estimator);
  }
  skip_dearest(plan, settings, estimator, total);
}

Peaks measure_peaks(Isa isa, const std::set<int>& threads, machine::LimitKernelsOf limits_of) {
  Peaks peaks;
  peaks.isa = isa;
  if (limits_of == nullptr) return peaks;
  const machine::LimitKernels kernels = limits_of(isa);
  const std::int64_t to_read =
      machine::uncached_buffer(machine::describe_processor(), usable_memory({}) / 2).bytes;
  for (const int count : threads) {
    peaks.fma_gflops[count] = machine::measure_fma_peak(count, kernels.fma);
    if (to_read == 0) continue;  // no roof where nothing is larger than the caches
    peaks.read_gbs[count] = machine::measure_read_bandwidth(count, to_read, kernels.read);
  }
  return peaks;
}

Peaks measure_peaks(const Plan& plan, machine::LimitKernelsOf limits_of) {
  std::set<int> threads;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) threads.insert(cell.threads);
  }
  return measure_peaks(plan.isa, threads, limits_of);
}

std::vector<CellResult> run_sweep(const Plan& plan, const SweepSettings& settings,
                                  const Peaks& peaks, Journal& journal, Progress& progress) {
  if (settings.timing.cold) require_emptiable_caches(settings.memory_limit);
  return Runner(plan, settings, peaks, journal, progress).run();
}

}  // namespace headroom::sweep
