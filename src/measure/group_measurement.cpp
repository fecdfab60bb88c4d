#include "measure/group_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "judge/noise.hpp"
#include "machine/meters/timing.hpp"
#include "measure/cache_emptier.hpp"
#include "measure/check.hpp"
#include "measure/control_meters.hpp"

namespace headroom::measure {
namespace {

std::string isa_in_use(const plan::Cell& cell) {
  for (const BackendInfo& info : backends()) {
    if (info.name == cell.runs() && info.uses_isa && info.available) {
      return std::string(headroom::to_string(select_isa(cell.isa)));
    }
  }
  return "baseline";
}

class GroupMeasurement {
 public:
  GroupMeasurement(const plan::Group& group, const MeasureSettings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events)
      : group_(group), settings_(settings), estimator_(estimator), events_(events) {}

  void run();

 private:
  // A layer that passed its check and waits to be timed.
  struct Ready {
    record::CellResult result;
    std::unique_ptr<Attention> attention;
    int repetitions = 0;
    double forward = 0;                   // seconds
    machine::TimedSamples first, second;  // the second of the rival that is timed twice
  };

  void working(double expected_seconds) const {
    if (events_.working) events_.working(expected_seconds);
  }
  bool stopped() const { return settings_.stopped && settings_.stopped(); }
  void finish(record::CellResult result, record::Status status, std::string reason);
  bool admitted(const plan::Cell& cell);
  bool prepare_problem();
  void measure(const plan::Cell& cell);
  void prepare(Ready& ready);
  bool check(Ready& ready);
  BeforePass before_pass(double expected_seconds);
  void time_batch();
  machine::TimedTask task_of(const Ready& ready, const char* suffix);
  std::size_t rival_for_noise() const;
  void timed(Ready& ready);
  void rate(record::CellResult& result) const;
  std::int64_t base_bytes() const { return plan::shared_bytes(group_.shape) + caches_.bytes(); }

  const plan::Group& group_;
  const MeasureSettings& settings_;
  plan::Estimator& estimator_;
  const MeasureEvents& events_;
  std::vector<const plan::Cell*> candidates_;
  Problem problem_;
  Matrix y_;
  std::vector<Ready> batch_;
  std::int64_t held_bytes_ = 0;
  ControlMeters meters_{settings_.control};
  CacheEmptier caches_;
  bool noise_taken_ = false;
};

void GroupMeasurement::finish(record::CellResult result, record::Status status,
                              std::string reason) {
  result.status = status;
  result.reason = std::move(reason);
  events_.finished(result);
}

// Decides from estimates alone, before anything is allocated.
bool GroupMeasurement::admitted(const plan::Cell& cell) {
  record::CellResult result = blank_result(group_, cell, settings_.timing, estimator_);
  plan::Limits limits = settings_.limits;
  if (settings_.seconds_left) limits.budget_seconds = settings_.seconds_left();
  const std::string reason = plan::reason_to_skip(group_.shape, cell, result.estimate, limits);
  if (reason.empty()) return true;
  finish(std::move(result), record::Status::skipped, reason);
  return false;
}

void GroupMeasurement::run() {
  for (const plan::Cell& cell : group_.cells) {
    if (admitted(cell)) candidates_.push_back(&cell);
  }
  if (candidates_.empty() || stopped() || !prepare_problem()) return;
  for (const plan::Cell* cell : candidates_) {
    if (stopped()) return;
    measure(*cell);
  }
  time_batch();
}

bool GroupMeasurement::prepare_problem() {
  events_.started("expected result of " + group_.shape.id());
  working(estimator_.group_seconds(group_, settings_.timing));
  try {
    problem_ =
        make_problem(group_.shape, settings_.seed, reference::Data::standard, plan::kCheckFlops);
    y_ = Matrix(group_.shape.rows(), group_.shape.output_width());
    if (settings_.timing.cold) caches_.prepare(settings_.reader, settings_.limits.memory_bytes);
    held_bytes_ = base_bytes();
    return true;
  } catch (const std::bad_alloc&) {
    for (const plan::Cell* cell : candidates_) {
      finish(blank_result(group_, *cell, settings_.timing, estimator_), record::Status::skipped,
             "not enough memory for the weights and the expected result");
    }
    return false;
  }
}

void GroupMeasurement::measure(const plan::Cell& cell) {
  const std::int64_t needed = plan::cell_bytes(group_.shape, cell);
  if (!batch_.empty() && held_bytes_ + needed > settings_.limits.memory_bytes) time_batch();
  if (stopped()) return;
  // Earlier rivals may have taken longer than estimated, so the limits are checked again.
  if (!admitted(cell)) return;
  events_.started(kCheckPrefix + cell.id);
  working(estimator_.cell_seconds(group_.shape, cell, settings_.timing));
  Ready ready;
  ready.result = blank_result(group_, cell, settings_.timing, estimator_);
  std::pair<record::Status, std::string> problem;
  try {
    prepare(ready);
    return;
  } catch (const Unsupported& error) {
    problem = {record::Status::unsupported, error.what()};
  } catch (const Unavailable& error) {
    problem = {record::Status::unsupported, error.what()};
  } catch (const std::bad_alloc&) {
    problem = {record::Status::crashed, "out of memory, although its estimate fits"};
  } catch (const std::exception& error) {
    problem = {record::Status::failed, fmt::format("ended with an error: {}", error.what())};
  }
  if (problem.first == record::Status::crashed && !batch_.empty()) {
    // The layers that wait to be timed hold memory that this one needs, perhaps only while it
    // packs. Try again once they are timed and freed.
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

// Checks the result, then measures the phases and estimates the time per pass.
bool GroupMeasurement::check(Ready& ready) {
  record::CellResult& result = ready.result;
  const double expected = estimator_.forward_seconds(group_.shape, result.cell);
  const Checked first =
      run_and_compare(*ready.attention, problem_, y_.view(), before_pass(expected));
  result.error = first.comparison;
  result.checked_rows = static_cast<std::int64_t>(problem_.expected.rows.size());
  if (!first.comparison.passed) {
    finish(std::move(result), record::Status::failed, "wrong result: " + first.comparison.reason);
    return false;
  }
  const Pace pace = measure_pace(*ready.attention, problem_, y_.view(), first.phases,
                                 before_pass(std::max(expected, total(first.phases))));
  result.phases = pace.phases;
  estimator_.observe(group_.shape, result.cell, pace.forward);
  ready.forward = pace.forward;
  const double spent = result.costs->setup_seconds + total(first.phases);
  ready.repetitions = settings_.timing.affordable_repetitions(pace.forward, spent);
  return true;
}

// Phases are measured as cold as the time. The sign comes before the caches are emptied.
BeforePass GroupMeasurement::before_pass(double expected_seconds) {
  return [this, expected_seconds] {
    working(expected_seconds + settings_.timing.beside + settings_.timing.emptying);
    if (settings_.timing.cold) caches_.empty();
  };
}

machine::TimedTask GroupMeasurement::task_of(const Ready& ready, const char* suffix) {
  machine::TimedTask task;
  task.name = ready.result.cell.id + suffix;
  task.run = [this, attention = ready.attention.get()] {
    attention->forward(problem_.x.view(), y_.view());
  };
  task.repetitions = ready.repetitions;
  const plan::TimingPlan& timing = settings_.timing;
  const double passes = timing.cold ? 1 : std::ceil(timing.min_time / ready.forward);
  task.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(passes));
  task.control = meters_.reader(ready.result.threads);
  task.before = before_pass(static_cast<double>(task.iterations) * ready.forward);
  return task;
}

// The fastest rival of a shape is the cheapest to time twice. No rival is chosen if even that one
// takes long, or if the shape already has its twin.
std::size_t GroupMeasurement::rival_for_noise() const {
  const auto fastest =
      std::min_element(batch_.begin(), batch_.end(),
                       [](const Ready& a, const Ready& b) { return a.forward < b.forward; });
  if (noise_taken_ || fastest->forward > plan::kShortPass) return batch_.size();
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
        // A result is recorded once, so the rival that is timed twice waits for its second half.
        if (rival != twice) timed(batch_[rival]);
      },
      settings_.stopped);
  if (twice < batch_.size() && !batch_[twice].first.seconds.empty()) timed(batch_[twice]);
  noise_taken_ = noise_taken_ || twice < batch_.size();
  batch_.clear();
  held_bytes_ = base_bytes();
}

void GroupMeasurement::timed(Ready& ready) {
  record::CellResult& result = ready.result;
  const machine::TimedSamples& first = ready.first;
  const machine::TimedSamples& second = ready.second;
  result.time = record::summarise(first.seconds, settings_.seed);
  if (!first.control.empty()) {
    const std::string isa(headroom::to_string(settings_.peaks.isa));
    result.control = record::Control{isa, result.threads, first.control, first.clock_ghz};
  }
  if (!second.seconds.empty()) {
    const double ratio = statistics::median(record::steadied(second.seconds, second.control)) /
                         statistics::median(record::steadied(first.seconds, first.control));
    result.again = record::Again{ratio, second.seconds, second.control};
  }
  rate(result);
  const std::string impossible = judge::beyond_peak(result);
  finish(result, impossible.empty() ? record::Status::ok : record::Status::failed, impossible);
}

void GroupMeasurement::rate(record::CellResult& result) const {
  const double flops = group_.shape.flops().total();
  result.gflops = flops / result.time.median * 1e-9;
  const auto peak = settings_.peaks.fma_gflops.find(result.threads);
  if (result.control) {
    result.peak_fraction =
        record::share_of_control(flops, result.time.samples, result.control->gflops);
  } else if (peak != settings_.peaks.fma_gflops.end() && peak->second > 0) {
    result.peak_fraction = result.gflops / peak->second;
  }
}

}  // namespace

record::CellResult blank_result(const plan::Group& group, const plan::Cell& cell,
                                const plan::TimingPlan& timing, const plan::Estimator& estimator) {
  record::CellResult result;
  result.cell = cell;
  result.shape = group.shape;
  result.threads = cell.threads;
  result.isa = isa_in_use(cell);
  result.cache = timing.cold ? plan::CacheState::cold : plan::CacheState::warm;
  result.estimate = estimator.estimate(group.shape, cell, timing);
  return result;
}

void measure_group(const plan::Group& group, const MeasureSettings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events) {
  GroupMeasurement(group, settings, estimator, events).run();
}

}  // namespace headroom::measure
