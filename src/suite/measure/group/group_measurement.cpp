#include "measure/group/group_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/placed_matrix.hpp"
#include "headroom/error.hpp"
#include "machine/meters/timing.hpp"
#include "measure/cache_emptier.hpp"
#include "measure/control_meters.hpp"
#include "measure/crew/crew.hpp"
#include "measure/group/cell_result.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

class GroupMeasurement {
 public:
  GroupMeasurement(const PreparedGroup& prepared, const Round& round, const Settings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events)
      : group_(prepared.group),
        problem_(*prepared.problem),
        round_(round),
        settings_(settings),
        estimator_(estimator),
        events_(events),
        usage_(machine::make_usage_meter(settings.usage)),
        x_(problem_.x.view()),
        y_(group_.shape.rows(), group_.shape.output_width()) {}

  void run();

 private:
  // A layer that passed its check and waits to be timed.
  struct Ready {
    Assignment assigned;
    Part part;
    std::unique_ptr<CellLayer> layer;
    machine::TimedSamples first, second;  // the second of the rival that is timed twice
  };

  void working(double expected_seconds) const {
    if (events_.working) events_.working(expected_seconds);
  }
  bool stopped() const { return events_.stopped && events_.stopped(); }
  bool first_process() const { return round_.process == 0; }
  void finish(Part part, record::Status status, std::string reason);
  bool admitted(const plan::Cell& cell);
  void measure(const Assignment& assigned);
  void prepare(Ready& ready);
  bool check(Ready& ready);
  void decide(Ready& ready, const PhaseTimes& first);
  BeforePass before_pass(double expected_seconds);
  void time_batch();
  machine::TimedTask task_of(const Ready& ready, const char* suffix);
  std::size_t rival_for_noise() const;
  void timed(Ready& ready);
  std::int64_t base_bytes() const { return plan::shared_bytes(group_.shape) + caches_.bytes(); }

  const plan::Group& group_;
  const Problem& problem_;
  const Round& round_;
  const Settings& settings_;
  plan::Estimator& estimator_;
  const MeasureEvents& events_;
  // Before anything that may start a thread.
  const std::unique_ptr<machine::UsageMeter> usage_;
  // Not the problem's own, whose pages every process of the group shares.
  PlacedMatrix x_;
  PlacedMatrix y_;
  std::vector<Ready> batch_;
  std::int64_t held_bytes_ = 0;
  ControlMeters meters_{settings_.kernels};
  CacheEmptier caches_;
  bool noise_taken_ = false;
};

void GroupMeasurement::finish(Part part, record::Status status, std::string reason) {
  part.result.status = status;
  part.result.reason = std::move(reason);
  events_.finished(part);
}

void GroupMeasurement::run() {
  if (settings_.timing.cold) caches_.prepare(settings_.kernels.read, settings_.memory_limit);
  held_bytes_ = base_bytes();
  for (const Assignment& assigned : round_.cells) {
    if (!stopped()) measure(assigned);
  }
  time_batch();
}

// Earlier rivals may have taken longer than estimated, so the limits are checked again.
bool GroupMeasurement::admitted(const plan::Cell& cell) {
  if (!first_process()) return true;
  Part part;
  part.result = blank_result(group_, cell, settings_.timing, estimator_);
  const std::string reason = settings_.reason_to_skip(group_.shape, cell, part.result.estimate);
  if (reason.empty()) return true;
  finish(std::move(part), record::Status::skipped, reason);
  return false;
}

void GroupMeasurement::measure(const Assignment& assigned) {
  const plan::Cell& cell = group_.cells.at(assigned.cell);
  const std::int64_t needed = plan::cell_bytes(group_.shape, cell);
  if (!batch_.empty() && held_bytes_ + needed > settings_.memory_limit) time_batch();
  if (!admitted(cell)) return;
  events_.started(kCheckPrefix + cell.id);
  working(estimator_.cell_seconds(group_.shape, cell, settings_.timing));
  Ready ready;
  ready.assigned = assigned;
  ready.part.result = blank_result(group_, cell, settings_.timing, estimator_);
  std::pair<record::Status, std::string> problem;
  try {
    prepare(ready);
    return;
  } catch (const Unsupported& error) {
    problem = {record::Status::unsupported, error.what()};
  } catch (const Unavailable& error) {
    problem = {record::Status::unsupported, error.what()};
  } catch (const ResourceError&) {
    throw;  // no cell of this many threads will fare better
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
    measure(assigned);
    return;
  }
  finish(std::move(ready.part), problem.first, problem.second);
}

void GroupMeasurement::prepare(Ready& ready) {
  record::CellResult& result = ready.part.result;
  ready.layer = make_layer(problem_, result.cell, settings_.crew);
  const CellLayer& layer = *ready.layer;
  const AttentionCosts& costs = layer.costs();
  result.costs = costs;
  if (group_.shape.past > 0 && group_.shape.has_projections())
    result.cached = {layer.cache_bytes(), layer.fill_seconds()};
  result.threads = layer.options().threads;
  if (!result.cell.chosen.empty()) result.choice = layer.choice();
  const Choice& choice = layer.choice();
  if (choice.precision != result.cell.numbers.precision) {
    throw Unsupported(fmt::format("{} computes {} as {}: {}", choice.backend,
                                  to_string(result.cell.numbers.precision),
                                  to_string(choice.precision), choice.precision_reason));
  }
  if (!check(ready)) return;
  held_bytes_ += costs.packed_bytes + costs.workspace_bytes + layer.cache_bytes();
  batch_.push_back(std::move(ready));
}

// Every process checks its own layer; the first one also measures the phases.
bool GroupMeasurement::check(Ready& ready) {
  record::CellResult& result = ready.part.result;
  const double expected = estimator_.forward_seconds(group_.shape, result.cell);
  const Checked first =
      run_and_compare(*ready.layer, problem_, x_.view(), y_.view(), before_pass(expected));
  result.error = first.comparison;
  result.storage_error = problem_.storage_error;
  result.attention_shift = problem_.attention_shift;
  result.checked_rows = static_cast<std::int64_t>(problem_.expected.rows.size());
  if (!first.comparison.passed) {
    finish(std::move(ready.part), record::Status::failed,
           "wrong result: " + first.comparison.reason);
    return false;
  }
  decide(ready, first.phases);
  return true;
}

// How many samples of how many passes the cell gets.
void GroupMeasurement::decide(Ready& ready, const PhaseTimes& first) {
  Part& part = ready.part;
  part.result.phases = first;
  if (!first_process()) {
    part.iterations = ready.assigned.iterations;
    part.forward = ready.assigned.forward;
    return;
  }
  const Pace pace = measure_pace(*ready.layer, x_.view(), y_.view(), first,
                                 before_pass(std::max(part.forward, total(first))));
  part.result.phases = pace.phases;
  part.forward = pace.forward;
  estimator_.observe(group_.shape, part.result.cell, pace.forward);
  const plan::TimingPlan& timing = settings_.timing;
  const double before = part.result.costs->setup_seconds + ready.layer->fill_seconds();
  part.plan = timing.samples(pace.forward, before + total(first));
  part.iterations = timing.passes(pace.forward);
  ready.assigned.samples = part.plan.share(0);
}

// Phases are measured as cold as the time. The sign comes before the caches are emptied.
BeforePass GroupMeasurement::before_pass(double expected_seconds) {
  return [this, expected_seconds] {
    working(expected_seconds + settings_.timing.beside + settings_.timing.emptying);
    if (settings_.timing.cold) caches_.empty();
  };
}

machine::TimedTask GroupMeasurement::task_of(const Ready& ready, const char* suffix) {
  const Part& part = ready.part;
  machine::TimedTask task;
  task.name = part.result.cell.id + suffix;
  task.run = [this, layer = ready.layer.get()] { layer->forward(x_.view(), y_.view()); };
  task.repetitions = ready.assigned.samples;
  task.iterations = part.iterations;
  task.control = meters_.reader(part.result.threads);
  task.usage = usage_.get();
  task.before = [before = before_pass(static_cast<double>(part.iterations) * part.forward),
                 layer = ready.layer.get(), passes = part.iterations] {
    before();
    layer->announce(passes);
  };
  return task;
}

// The fastest rival of a shape is the cheapest to time twice. No rival is chosen if even that one
// takes long, or if the shape already has its twin. Later processes follow the first.
std::size_t GroupMeasurement::rival_for_noise() const {
  const auto place = [this](auto rival) {
    return static_cast<std::size_t>(rival - batch_.begin());
  };
  if (!first_process()) {
    return place(std::find_if(batch_.begin(), batch_.end(),
                              [](const Ready& ready) { return ready.assigned.twice; }));
  }
  const auto fastest = std::min_element(
      batch_.begin(), batch_.end(),
      [](const Ready& a, const Ready& b) { return a.part.forward < b.part.forward; });
  if (noise_taken_ || fastest->part.forward > plan::kShortPass) return batch_.size();
  return place(fastest);
}

void GroupMeasurement::time_batch() {
  if (batch_.empty()) return;
  events_.started(fmt::format("timing {} rivals of {}, process {}", batch_.size(),
                              group_.shape.id(), round_.process + 1));
  std::vector<machine::TimedTask> tasks;
  for (const Ready& ready : batch_) tasks.push_back(task_of(ready, ""));
  const std::size_t twice = rival_for_noise();
  if (twice < batch_.size()) tasks.push_back(task_of(batch_[twice], "#again"));
  const auto done = [&](std::size_t index, const machine::TimedSamples& samples) {
    const bool again = index == batch_.size();
    const std::size_t rival = again ? twice : index;
    (again ? batch_[rival].second : batch_[rival].first) = samples;
    // A result is recorded once, so the rival that is timed twice waits for its second half.
    if (rival != twice) timed(batch_[rival]);
  };
  machine::time_interleaved(tasks, done, [this] { return stopped(); });
  if (twice < batch_.size() && !batch_[twice].first.seconds.empty()) timed(batch_[twice]);
  noise_taken_ = noise_taken_ || twice < batch_.size();
  batch_.clear();
  held_bytes_ = base_bytes();
}

void GroupMeasurement::timed(Ready& ready) {
  record::CellResult& result = ready.part.result;
  const machine::TimedSamples& first = ready.first;
  const machine::TimedSamples& second = ready.second;
  result.time = record::summarise(first.seconds, {}, settings_.seed);
  if (!first.control.empty()) {
    const std::string isa(headroom::to_string(settings_.peaks.target.isa));
    result.control =
        record::Control{isa, result.threads, first.control, first.clock_ghz, first.tile};
  }
  result.used = record::credible(first.usage, first.seconds);
  // Its ratio follows once the samples of all processes are joined.
  if (!second.seconds.empty()) result.again = record::Again{1, second.seconds, second.control};
  finish(std::move(ready.part), record::Status::ok, "");
}

}  // namespace

std::optional<record::CellResult> refusal_by_estimate(const plan::Group& group,
                                                      const plan::Cell& cell,
                                                      const Settings& settings,
                                                      const plan::Estimator& estimator) {
  record::CellResult result = blank_result(group, cell, settings.timing, estimator);
  result.reason = settings.reason_to_skip(group.shape, cell, result.estimate);
  if (result.reason.empty()) return std::nullopt;
  result.status = cell.unsupported ? record::Status::unsupported : record::Status::skipped;
  return result;
}

void measure_round(const PreparedGroup& prepared, const Round& round, const Settings& settings,
                   plan::Estimator& estimator, const MeasureEvents& events) {
  if (prepared.problem) {
    GroupMeasurement(prepared, round, settings, estimator, events).run();
    return;
  }
  for (const Assignment& assigned : round.cells) {
    const plan::Cell& cell = prepared.group.cells.at(assigned.cell);
    Part part{blank_result(prepared.group, cell, settings.timing, estimator), {}, 0, 0};
    part.result.status = record::Status::skipped;
    part.result.reason = "not enough memory for the weights and the expected result";
    events.finished(part);
  }
}

}  // namespace headroom::measure
