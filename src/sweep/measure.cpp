#include "sweep/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "machine/timing.hpp"
#include "sweep/cache_state.hpp"
#include "sweep/check.hpp"
#include "sweep/numbers.hpp"

namespace headroom::sweep {
namespace {

double total(const PhaseTimes& times) { return times.qkv + times.attend + times.output; }

std::string isa_in_use(const Cell& cell) {
  for (const BackendInfo& info : backends()) {
    if (info.name == cell.runs() && info.uses_isa && info.available) {
      return std::string(headroom::to_string(select_isa(cell.isa)));
    }
  }
  return "baseline";
}

class GroupMeasurement {
 public:
  GroupMeasurement(const Group& group, const MeasureSettings& settings, Estimator& estimator,
                   const MeasureEvents& events)
      : group_(group), settings_(settings), estimator_(estimator), events_(events) {}

  void run();

 private:
  // A layer that passed its check and waits for the stopwatch.
  struct Ready {
    CellResult result;
    std::unique_ptr<Attention> attention;
    int repetitions = 0;
    double forward = 0;                   // seconds
    machine::TimedSamples first, second;  // the second of the rival that is timed twice
  };

  bool stopped() const { return settings_.stopped && settings_.stopped(); }
  void finish(CellResult result, Status status, std::string reason);
  bool admitted(const Cell& cell);
  bool prepare_problem();
  void measure(const Cell& cell);
  void prepare(Ready& ready);
  bool check(Ready& ready);
  void time_batch();
  machine::TimedTask task_of(const Ready& ready, const char* suffix);
  std::size_t rival_for_noise() const;
  void timed(Ready& ready);
  void rate(CellResult& result) const;
  std::int64_t base_bytes() const { return shared_bytes(group_.shape) + caches_.bytes(); }

  const Group& group_;
  const MeasureSettings& settings_;
  Estimator& estimator_;
  const MeasureEvents& events_;
  std::vector<const Cell*> candidates_;
  Problem problem_;
  Matrix y_;
  std::vector<Ready> batch_;
  std::int64_t held_bytes_ = 0;
  ControlMeters meters_{settings_.control};
  CacheEmptier caches_;
  bool noise_taken_ = false;
};

void GroupMeasurement::finish(CellResult result, Status status, std::string reason) {
  result.status = status;
  result.reason = std::move(reason);
  events_.finished(result);
}

// Decides from estimates alone, before anything is allocated.
bool GroupMeasurement::admitted(const Cell& cell) {
  CellResult result = blank_result(group_, cell, settings_.timing, estimator_);
  const CellEstimate& estimate = result.estimate;
  std::string reason;
  if (!cell.skip_reason.empty()) {
    reason = cell.skip_reason;
  } else if (group_.shape.rows() == 0) {
    reason = "batch times tokens is 0: nothing to compute";
  } else if (estimate.bytes > settings_.memory_limit) {
    reason = fmt::format("needs about {}, and {} may be used; raise --max-memory if there is more",
                         format_bytes(estimate.bytes), format_bytes(settings_.memory_limit));
  } else if (settings_.cell_limit && estimate.seconds > *settings_.cell_limit) {
    reason = fmt::format("would take about {}, and a cell may take {}; a --budget lifts this limit",
                         format_wait(estimate.seconds), format_wait(*settings_.cell_limit));
  } else if (settings_.seconds_left && estimate.seconds > settings_.seconds_left()) {
    reason = fmt::format("would take about {}, which is more than is left of --budget",
                         format_wait(estimate.seconds));
  }
  if (reason.empty()) return true;
  finish(std::move(result), Status::skipped, reason);
  return false;
}

void GroupMeasurement::run() {
  for (const Cell& cell : group_.cells) {
    if (admitted(cell)) candidates_.push_back(&cell);
  }
  if (candidates_.empty() || stopped() || !prepare_problem()) return;
  for (const Cell* cell : candidates_) {
    if (stopped()) return;
    measure(*cell);
  }
  time_batch();
}

bool GroupMeasurement::prepare_problem() {
  events_.started("expected result of " + group_.shape.id());
  try {
    problem_ = make_problem(group_.shape, settings_.seed, reference::Data::standard, kCheckFlops);
    y_ = Matrix(group_.shape.rows(), group_.shape.output_width());
    if (settings_.timing.cold) caches_.prepare(settings_.reader, settings_.memory_limit);
    held_bytes_ = base_bytes();
    return true;
  } catch (const std::bad_alloc&) {
    for (const Cell* cell : candidates_) {
      finish(blank_result(group_, *cell, settings_.timing, estimator_), Status::skipped,
             "no memory for the weights and the expected result");
    }
    return false;
  }
}

void GroupMeasurement::measure(const Cell& cell) {
  const std::int64_t needed = cell_bytes(group_.shape, cell);
  if (!batch_.empty() && held_bytes_ + needed > settings_.memory_limit) time_batch();
  if (stopped()) return;
  // Earlier rivals may have taken longer than estimated, so the limits are asked once more.
  if (!admitted(cell)) return;
  events_.started(kCheckPrefix + cell.id);
  Ready ready;
  ready.result = blank_result(group_, cell, settings_.timing, estimator_);
  std::pair<Status, std::string> problem;
  try {
    prepare(ready);
    return;
  } catch (const Unsupported& error) {
    problem = {Status::unsupported, error.what()};
  } catch (const Unavailable& error) {
    problem = {Status::unsupported, error.what()};
  } catch (const std::bad_alloc&) {
    problem = {Status::crashed, "memory ran out, although its estimate fits"};
  } catch (const std::exception& error) {
    problem = {Status::failed, fmt::format("ended with an error: {}", error.what())};
  }
  if (problem.first == Status::crashed && !batch_.empty()) {
    // Those that wait for the stopwatch hold what this one needs, if only while it packs. Once
    // more, after they are timed and gone.
    ready = {};
    time_batch();
    measure(cell);
    return;
  }
  finish(std::move(ready.result), problem.first, problem.second);
}

void GroupMeasurement::prepare(Ready& ready) {
  ready.attention =
      std::make_unique<Attention>(group_.shape, problem_.weights, ready.result.cell.options());
  const AttentionCosts& costs = ready.attention->costs();
  ready.result.costs = costs;
  ready.result.threads = ready.attention->options().threads;
  if (!ready.result.cell.chosen.empty()) ready.result.choice = ready.attention->choice();
  if (!check(ready)) return;
  held_bytes_ += costs.packed_bytes + costs.workspace_bytes;
  batch_.push_back(std::move(ready));
}

// The check, the phases and how long a pass takes.
bool GroupMeasurement::check(Ready& ready) {
  const Checked first = run_and_compare(*ready.attention, problem_, y_.view());
  CellResult& result = ready.result;
  result.error = first.comparison;
  result.checked_rows = static_cast<std::int64_t>(problem_.expected.rows.size());
  if (!first.comparison.passed) {
    finish(std::move(result), Status::failed, "wrong result: " + first.comparison.reason);
    return false;
  }
  std::vector<double> qkv{first.phases.qkv};
  std::vector<double> attend{first.phases.attend};
  std::vector<double> output{first.phases.output};
  double forward = total(first.phases);
  if (forward < kShortPass) {
    // The first pass found cold caches and fresh memory; it says nothing about the others.
    qkv.clear(), attend.clear(), output.clear();
    for (int run = 0; run < kPhaseRuns; ++run) {
      PhaseTimes times;
      ready.attention->forward(problem_.x.view(), y_.view(), times);
      qkv.push_back(times.qkv);
      attend.push_back(times.attend);
      output.push_back(times.output);
      forward = std::min(forward, total(times));
    }
  }
  result.phases = {median(qkv), median(attend), median(output)};
  estimator_.observe(group_.shape, result.cell, forward);
  ready.forward = forward;
  ready.repetitions = affordable_repetitions(settings_.timing.repetitions, forward);
  return true;
}

machine::TimedTask GroupMeasurement::task_of(const Ready& ready, const char* suffix) {
  machine::TimedTask task;
  task.name = ready.result.cell.id + suffix;
  task.run = [this, attention = ready.attention.get()] {
    attention->forward(problem_.x.view(), y_.view());
  };
  task.repetitions = ready.repetitions;
  const TimingPlan& timing = settings_.timing;
  const double passes = timing.cold ? 1 : std::ceil(timing.min_time / ready.forward);
  task.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(passes));
  task.control = meters_.reader(ready.result.threads);
  if (timing.cold) task.before = [this] { caches_.empty(); };
  return task;
}

// The fastest rival of a shape is the cheapest to time twice. None where even that takes long, or
// where one of the shape was already.
std::size_t GroupMeasurement::rival_for_noise() const {
  const auto fastest =
      std::min_element(batch_.begin(), batch_.end(),
                       [](const Ready& a, const Ready& b) { return a.forward < b.forward; });
  if (noise_taken_ || fastest->forward > kShortPass) return batch_.size();
  return static_cast<std::size_t>(fastest - batch_.begin());
}

void GroupMeasurement::time_batch() {
  if (batch_.empty() || stopped()) return;
  events_.started(fmt::format("timing {} rivals of {}", batch_.size(), group_.shape.id()));
  std::vector<machine::TimedTask> tasks;
  for (const Ready& ready : batch_) tasks.push_back(task_of(ready, ""));
  const std::size_t twice = rival_for_noise();
  if (twice < batch_.size()) tasks.push_back(task_of(batch_[twice], "#again"));
  machine::time_interleaved(
      tasks,
      [&](std::size_t index, const machine::TimedSamples& samples) {
        const bool again = index == batch_.size();
        const std::size_t rival = again ? twice : index;
        (again ? batch_[rival].second : batch_[rival].first) = samples;
        // Its line is written once; the rival that is timed twice waits for its second half.
        if (rival != twice) timed(batch_[rival]);
      },
      settings_.stopped);
  if (twice < batch_.size() && !batch_[twice].first.seconds.empty()) timed(batch_[twice]);
  noise_taken_ = noise_taken_ || twice < batch_.size();
  batch_.clear();
  held_bytes_ = base_bytes();
}

void GroupMeasurement::timed(Ready& ready) {
  CellResult& result = ready.result;
  const machine::TimedSamples& first = ready.first;
  const machine::TimedSamples& second = ready.second;
  result.time = summarise(first.seconds, settings_.seed);
  if (!first.control.empty()) {
    const std::string isa(headroom::to_string(settings_.peaks.isa));
    result.control = Control{isa, result.threads, first.control};
  }
  if (!second.seconds.empty()) {
    const double ratio = median(steadied(second.seconds, second.control)) /
                         median(steadied(first.seconds, first.control));
    result.again = Again{ratio, second.seconds, second.control};
  }
  rate(result);
  const std::string impossible = beyond_peak(result);
  finish(result, impossible.empty() ? Status::ok : Status::failed, impossible);
}

void GroupMeasurement::rate(CellResult& result) const {
  const double flops = group_.shape.flops().total();
  result.gflops = flops / result.time.median * 1e-9;
  const auto peak = settings_.peaks.fma_gflops.find(result.threads);
  if (result.control) {
    result.peak_fraction = share_of_control(flops, result.time.samples, result.control->gflops);
  } else if (peak != settings_.peaks.fma_gflops.end() && peak->second > 0) {
    result.peak_fraction = result.gflops / peak->second;
  }
}

}  // namespace

CellResult blank_result(const Group& group, const Cell& cell, const TimingPlan& timing,
                        const Estimator& estimator) {
  CellResult result;
  result.cell = cell;
  result.shape = group.shape;
  result.threads = cell.threads;
  result.isa = isa_in_use(cell);
  result.cache = timing.cold ? CacheState::cold : CacheState::warm;
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(shared_bytes(group.shape), cell_bytes(group.shape, cell), &bytes)) {
    bytes = std::numeric_limits<std::int64_t>::max();
  }
  result.estimate = {bytes, estimator.cell_seconds(group.shape, cell, timing)};
  return result;
}

void measure_group(const Group& group, const MeasureSettings& settings, Estimator& estimator,
                   const MeasureEvents& events) {
  GroupMeasurement(group, settings, estimator, events).run();
}

}  // namespace headroom::sweep
