#include "trend/readings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "judge/compare.hpp"
#include "record/results_folder.hpp"
#include "statistics/samples.hpp"

namespace headroom::trend {
namespace {

std::vector<double> log_medians(const statistics::SamplesByProcess& samples) {
  std::vector<double> logs = statistics::process_medians(samples);
  for (double& value : logs) value = std::log(value);
  return logs;
}

// Two results have the same control if these are equal, as `judge::same_control` asks.
std::string control_of(const record::CellResult& result) {
  if (!result.control || result.control->gflops.size() != result.time.samples.size()) return "";
  return fmt::format("{} {} {}", result.control->isa, result.control->threads, result.cell.ranks);
}

Reading reading_of(const record::CellResult& result) {
  Reading reading;
  reading.id = result.cell.id;
  reading.backend = result.cell.backend;
  reading.isa = result.isa;
  reading.unit = result.unit;
  reading.threads = result.threads;
  reading.peer = result.peer;
  reading.launches = log_medians(record::samples_of(result, false));
  reading.control = control_of(result);
  if (!reading.control.empty()) {
    reading.steadied = log_medians(record::samples_of(result, true));
    reading.gflops = statistics::median(result.control->gflops);
  }
  return reading;
}

}  // namespace

Run read_run(const std::filesystem::path& path) {
  record::ResultsFolder folder = record::read_results_folder(path);
  Run run;
  run.folder = path;
  run.origin = store::origin_of(folder.environment);
  run.noise_floor = judge::recorded_noise_floor(folder);
  for (const record::CellResult* result : record::in_order(folder)) {
    if (result->has_time()) {
      run.readings.push_back(reading_of(*result));
    } else {
      run.absences.push_back(
          {result->cell.id, result->cell.backend, result->peer, result->status, result->reason});
    }
  }
  run.environment = std::move(folder.environment);
  run.notes = std::move(folder.notes);
  return run;
}

}  // namespace headroom::trend
