// Measures how far auto is from the best backend: reads results folders in which `auto` is one of
// the rivals of each shape, and prints one row per shape and the counts. See scripts/auto-check.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "judge/compare.hpp"
#include "judge/verdict.hpp"
#include "program/numbers.hpp"
#include "record/results_folder.hpp"

namespace {

using namespace headroom;
using record::CellResult;

constexpr double kAllowed = 0.05;

bool faster(const CellResult* a, const CellResult* b) {
  return b == nullptr || a->time.median < b->time.median;
}

struct Rivals {
  const CellResult* automatic = nullptr;
  const CellResult* best = nullptr;  // of the backends that were named
  double noise_floor = 0;
};

std::string name_of(const CellResult& result) {
  return fmt::format("{}/{}", to_string(result.cell.formulation), result.cell.runs());
}

// @return whether auto is close enough to the best.
bool print(const std::string& shape, const Rivals& rivals) {
  const judge::Difference difference = judge::compare_samples(
      judge::SamplePair{record::samples_of(*rivals.best, false),
                        record::samples_of(*rivals.automatic, false), rivals.noise_floor});
  const bool within = difference.ratio <= 1 + kAllowed;
  const bool tied = difference.enough && difference.verdict != judge::Verdict::slower;
  fmt::print("{:<28}  {:<16} {:>9}  {:<16} {:>9}  {:>5.3f} ({:.3f} - {:.3f})  {}\n", shape,
             name_of(*rivals.best), format_seconds(rivals.best->time.median),
             name_of(*rivals.automatic), format_seconds(rivals.automatic->time.median),
             difference.ratio, difference.ci95.low, difference.ci95.high,
             within ? "within 5 %" : (tied ? "not distinguishable" : "MISSED"));
  return within || tied;
}

int check(const std::vector<std::string>& paths) {
  std::size_t good = 0;
  std::size_t shapes = 0;
  fmt::print("{:<28}  {:<16} {:>9}  {:<16} {:>9}  {}\n", "shape", "best", "time", "auto chose",
             "time", "auto / best (95 % interval)");
  for (const std::string& path : paths) {
    const record::ResultsFolder folder = record::read_results_folder(path);
    std::map<std::string, Rivals> by_shape;
    for (const CellResult& result : folder.results) {
      if (result.status != record::Status::ok) continue;
      Rivals& rivals = by_shape[result.shape.id()];
      const CellResult*& place = result.cell.backend == kAuto ? rivals.automatic : rivals.best;
      if (faster(&result, place)) place = &result;
      rivals.noise_floor = judge::recorded_noise_floor(folder);
    }
    for (const auto& [shape, rivals] : by_shape) {
      if (rivals.automatic == nullptr || rivals.best == nullptr) continue;
      ++shapes;
      good += print(shape, rivals) ? 1 : 0;
    }
  }
  fmt::print("{} of {} shapes within 5 % of the best or not distinguishable from it\n", good,
             shapes);
  return shapes > 0 && good + 1 >= shapes ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return check({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "headroom-auto-check: error: {}\n", error.what());
    return 1;
  }
}
