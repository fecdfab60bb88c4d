#include "measure/group/cell_result.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/backend.hpp"
#include "core/call/demand.hpp"
#include "headroom/backend.hpp"
#include "judge/noise.hpp"
#include "measure/roofs.hpp"
#include "statistics/samples.hpp"

namespace headroom::measure {
namespace {

using record::CellResult;

std::string isa_in_use(const plan::Cell& cell) {
  for (const BackendInfo& info : backends()) {
    if (info.name == cell.runs() && info.uses_isa && info.available) {
      return std::string(headroom::to_string(select_isa(cell.isa)));
    }
  }
  return "baseline";
}

template <class Value>
void append(std::vector<Value>& values, const std::vector<Value>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

// The processes of more samples, counted from `first`; `own` is empty if one took them all.
void append(std::vector<int>& processes, int first, const std::vector<double>& samples,
            const std::vector<int>& own) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    processes.push_back(first + (own.empty() ? 0 : own.at(i)));
  }
}

double ratio_of(const record::Again& again, const CellResult& result) {
  const std::vector<double> control =
      result.control ? result.control->gflops : std::vector<double>();
  return statistics::median(record::steadied(again.samples, again.control)) /
         statistics::median(record::steadied(result.time.samples, control));
}

// @return the number of the next process
int add_samples(CellResult& whole, const CellResult& part, int process) {
  append(whole.time.samples, part.time.samples);
  append(whole.time.processes, process, part.time.samples, part.time.processes);
  if (part.used) {
    if (!whole.used) whole.used.emplace();
    for (const machine::UsageKind& kind : machine::kUsageKinds) {
      append(whole.used->samples.*kind.samples, part.used->samples.*kind.samples);
    }
  }
  if (part.again) {
    if (!whole.again) whole.again.emplace();
    append(whole.again->samples, part.again->samples);
    append(whole.again->control, part.again->control);
    append(whole.again->processes, process, part.again->samples, part.again->processes);
  }
  const std::vector<int>& all = whole.time.processes;
  const int next = all.empty() ? process : *std::max_element(all.begin(), all.end()) + 1;
  if (!part.control) return next;
  if (!whole.control) whole.control = record::Control{part.control->isa, part.control->threads, {}};
  append(whole.control->gflops, part.control->gflops);
  append(whole.control->clock_ghz, part.control->clock_ghz);
  append(whole.control->tile_gflops, part.control->tile_gflops);
  return next;
}

// A reading that only some processes could take says nothing of the others.
void keep_complete(std::vector<double>& readings, std::size_t samples) {
  if (readings.size() != samples) readings.clear();
}

// Grows towards the limit that decides.
double to_limit(const reference::Comparison& error) {
  return error.by_element() ? error.bound_ratio : error.nrmse;
}

// What every process found out anew.
void take_worst_and_middle(CellResult& whole, const std::vector<CellResult>& parts) {
  std::vector<double> setup;
  for (const CellResult& part : parts) {
    setup.push_back(part.costs->setup_seconds);
    if (to_limit(*part.error) > to_limit(*whole.error)) whole.error = part.error;
  }
  whole.costs->setup_seconds = statistics::median(setup);
}

}  // namespace

std::string unit_in_use(const plan::Cell& cell) {
  const Target target = select_target(cell.isa, cell.unit);
  const Arithmetic does = arithmetic_of(cell.runs(), cell.numbers, target);
  return std::string(headroom::to_string(does.unit));
}

CellResult blank_result(const plan::Group& group, const plan::Cell& cell,
                        const plan::TimingPlan& timing, const plan::Estimator& estimator) {
  CellResult result;
  result.cell = cell;
  result.shape = group.shape;
  result.threads = cell.threads;
  result.isa = isa_in_use(cell);
  result.unit = unit_in_use(cell);
  result.cache = timing.cold ? plan::CacheState::cold : plan::CacheState::warm;
  result.estimate = estimator.estimate(group.shape, cell, timing);
  return result;
}

namespace {

void rate_reading(CellResult& result, const record::Peaks& peaks) {
  if (demand_of(result.shape) != Demand::decode) return;
  record::Reading& reading = result.reading.emplace();
  reading.bytes = bytes_to_read(result.shape, result.cell.numbers);
  if (reading.bytes == 0) return result.reading.reset();  // attention without a past
  reading.gbps = static_cast<double>(reading.bytes) / result.time.median * 1e-9;
  // Packed as parts, weights may be fewer or more bytes than they are stored as.
  if (result.cell.numbers.precision != Precision::f32) return;
  const bool cold = result.cache == plan::CacheState::cold;
  const int threads = reading_threads(result.cell.ranks, result.threads);
  const std::optional<double> roof = peaks.read_roof(threads, reading.bytes, cold);
  if (roof) reading.fraction = reading.gbps / *roof;
}

// What only some processes could count says nothing of the others.
void rate_usage(CellResult& result, const record::Peaks& peaks) {
  if (!result.used) return;
  result.used = record::credible(result.used->samples, result.time.samples);
  if (!result.used || !peaks.idle_watts) return;
  const std::optional<double> joules = result.used->joules();
  if (!joules) return;
  result.used->idle_share = record::idle_share(*peaks.idle_watts, result.time.median, *joules);
}

}  // namespace

void learn(plan::Estimator& estimator, const CellResult& result) {
  if (result.status == record::Status::ok) {
    estimator.observe(result.shape, result.cell, result.time.median);
  }
  if (result.cached) {
    estimator.observe_fill(result.shape, result.cell, result.cached->fill_seconds);
  }
  if (result.costs) {
    estimator.observe_setup(result.shape, result.cell, result.costs->setup_seconds);
  }
}

void rate_samples(CellResult& result, const record::Peaks& peaks, std::uint64_t seed) {
  result.time = record::summarise(result.time.samples, result.time.processes, seed);
  const double flops = result.shape.flops().total();
  result.gflops = flops / result.time.median * 1e-9;
  // Roofs are those of the leading rank's threads, and every rank has as many.
  const double of_rank = flops / result.cell.ranks;
  // The control is made of multiply-adds of f32, which are no limit for anything else.
  const Numbers& numbers = result.cell.numbers;
  const bool by_control = result.control && numbers.precision == Precision::f32;
  const std::optional<double> peak = peaks.product_roof(numbers, result.threads);
  result.peak_fraction.reset();
  result.tile_fraction.reset();
  if (by_control) {
    result.peak_fraction =
        record::share_of_rates(of_rank, result.time.samples, result.control->gflops);
  } else if (peak && *peak > 0) {
    result.peak_fraction = of_rank / result.time.median * 1e-9 / *peak;
  }
  if (by_control && !result.control->tile_gflops.empty()) {
    result.tile_fraction =
        record::share_of_rates(of_rank, result.time.samples, result.control->tile_gflops);
  }
  rate_reading(result, peaks);
  rate_usage(result, peaks);
  if (result.again) result.again->ratio = ratio_of(*result.again, result);
}

CellResult join_parts(const std::vector<CellResult>& parts, const record::Peaks& peaks,
                      std::uint64_t seed) {
  CellResult whole = parts.front();
  whole.time = {};
  whole.control.reset();
  whole.again.reset();
  whole.used.reset();
  int process = 0;
  for (const CellResult& part : parts) process = add_samples(whole, part, process);
  if (whole.control) {
    keep_complete(whole.control->clock_ghz, whole.control->gflops.size());
    keep_complete(whole.control->tile_gflops, whole.control->gflops.size());
  }
  take_worst_and_middle(whole, parts);
  rate_samples(whole, peaks, seed);
  whole.reason = judge::beyond_peak(whole);
  if (!whole.reason.empty()) whole.status = record::Status::failed;
  return whole;
}

}  // namespace headroom::measure
