#include "judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "backends/backend.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "judge/core_rate.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/environment_differences.hpp"
#include "judge/noise.hpp"
#include "judge/ranking.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::judge {
namespace {

// FMA peaks of a quiet machine repeat within this.
constexpr double kSteadyPeak = 0.03;

bool is_timed(const record::CellResult* result) { return result != nullptr && result->has_time(); }

std::vector<ComparedCell> join(const record::ResultsFolder& base,
                               const record::ResultsFolder& next) {
  std::map<std::string, const record::CellResult*> unmatched;
  for (const record::CellResult& result : next.results) unmatched.emplace(result.cell.id, &result);
  std::vector<ComparedCell> cells;
  std::size_t common = 0;
  for (const record::CellResult* result : record::in_order(base)) {
    const auto match = unmatched.find(result->cell.id);
    ComparedCell& cell = cells.emplace_back();
    cell.base = result;
    cell.next = match == unmatched.end() ? nullptr : match->second;
    cell.linkable = !backend_facts(result->cell.backend).only_compared;
    if (match == unmatched.end()) continue;
    unmatched.erase(match);
    ++common;
  }
  if (common == 0) {
    throw InvalidArgument(
        fmt::format("{} and {} have no cell in common; for example, {} is only in "
                    "the first; measure both with the same axes",
                    shown_path(base.path), shown_path(next.path), cells.front().id()));
  }
  for (const record::CellResult* result : record::in_order(next)) {
    if (!unmatched.contains(result->cell.id)) continue;
    ComparedCell& cell = cells.emplace_back();
    cell.next = result;
    cell.linkable = !backend_facts(result->cell.backend).only_compared;
  }
  return cells;
}

void compare_times(FolderComparison& comparison, const CompareSettings& settings) {
  Comparisons comparisons(comparison.noise_floor);
  for (ComparedCell& cell : comparison.cells) {
    if (!is_timed(cell.base) || !is_timed(cell.next)) continue;
    comparisons.add(cell.base, *cell.next, [&cell](const CellDifference& found) {
      cell.difference = found.difference;
      cell.by_control = found.by_control;
      cell.raw_ratio = found.raw_ratio;
    });
  }
  comparisons.run(settings);
}

// One warning for all cells that `wrong` objects to, with the first as the example.
template <class Wrong>
void warn_of_cells(FolderComparison& comparison, const char* what, Wrong wrong) {
  std::size_t count = 0;
  std::string example;
  for (const ComparedCell& cell : comparison.cells) {
    const std::string found = wrong(cell);
    if (found.empty()) continue;
    if (count++ == 0) example = fmt::format("{}: {}", cell.id(), found);
  }
  if (count == 0) return;
  comparison.warnings.push_back(
      fmt::format("{} {}, such as {}", counted(count, "cell"), what, example));
}

void warn(FolderComparison& comparison) {
  const nlohmann::ordered_json& base = comparison.base->environment;
  const nlohmann::ordered_json& next = comparison.next->environment;
  comparison.warnings = environment_differences(base, next);
  const double margin = std::max(comparison.threshold, comparison.noise_floor);
  // The control readings already account for a machine that was slower as a whole.
  const bool steady = comparison.by_control() == comparison.compared();
  for (std::string& warning : steady
                                  ? std::vector<std::string>{}
                                  : peak_differences(base, next, std::max(margin, kSteadyPeak))) {
    comparison.warnings.push_back(std::move(warning));
  }
  warn_of_cells(comparison, "ran with a different instruction set", [](const ComparedCell& cell) {
    const bool differs = cell.difference && cell.base->isa != cell.next->isa;
    return differs ? fmt::format("{} in BASE, {} in NEW", cell.base->isa, cell.next->isa) : "";
  });
  warn_of_cells(comparison, "were multiplied by a different unit", [](const ComparedCell& cell) {
    const bool differs = cell.difference && cell.base->unit != cell.next->unit;
    return differs ? fmt::format("{} in BASE, {} in NEW", cell.base->unit, cell.next->unit) : "";
  });
  warn_of_cells(comparison, "ran with a different number of threads", [](const ComparedCell& cell) {
    const bool differs = cell.difference && cell.base->threads != cell.next->threads;
    return differs ? fmt::format("{} in BASE, {} in NEW", cell.base->threads, cell.next->threads)
                   : "";
  });
  const record::Peaks base_roofs = roofs_of(*comparison.base);
  const record::Peaks next_roofs = roofs_of(*comparison.next);
  warn_of_cells(comparison, "had fewer cores than threads", [&](const ComparedCell& cell) {
    if (!cell.difference) return std::string();
    const auto then = too_few_cores(*cell.base, base_roofs);
    const auto now = too_few_cores(*cell.next, next_roofs);
    if (then) return core_rate_words(*cell.base, *then) + " in BASE";
    return now ? core_rate_words(*cell.next, *now) + " in NEW" : "";
  });
  warn_of_cells(comparison, "came from one launch, which says nothing of the next; use --processes",
                [](const ComparedCell& cell) {
                  return cell.difference && !cell.difference->enough ? "not distinguishable" : "";
                });
  warn_of_cells(
      comparison, "had a time in BASE but have none in NEW", [](const ComparedCell& cell) {
        if (!is_timed(cell.base) || is_timed(cell.next)) return std::string();
        return cell.next == nullptr
                   ? "missing"
                   : fmt::format("{}: {}", to_string(cell.next->status), cell.next->reason);
      });
}

}  // namespace

bool ComparedCell::regression() const {
  if (peer()) return false;
  if (difference) return difference->verdict == Verdict::slower;
  if (base == nullptr || next == nullptr) return false;
  if (record::is_broken(next->status)) return !record::is_broken(base->status);
  return next->status == record::Status::unsupported && base->status == record::Status::ok;
}

std::size_t FolderComparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [&](const ComparedCell& cell) {
        return cell.difference && cell.difference->verdict == verdict;
      }));
}

std::size_t FolderComparison::by_control() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [](const ComparedCell& cell) { return cell.difference && cell.by_control; }));
}

std::size_t FolderComparison::compared() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [](const ComparedCell& cell) { return cell.difference.has_value(); }));
}

std::size_t FolderComparison::gating() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [this](const ComparedCell& cell) { return gates(cell); }));
}

std::size_t FolderComparison::compared_in_gate() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [this](const ComparedCell& cell) { return cell.difference && in_gate(cell); }));
}

std::vector<std::string> FolderComparison::to_measure_again() const {
  std::vector<std::string> ids;
  for (const ComparedCell& cell : cells) {
    if (gates(cell) && cell.difference && cell.next->cell.ranks == 1) ids.push_back(cell.id());
  }
  return ids;
}

void add_second_run(FolderComparison& comparison, const FolderComparison& again) {
  for (const ComparedCell& second : again.cells) {
    for (ComparedCell& cell : comparison.cells) {
      if (cell.id() != second.id()) continue;
      cell.again = second.difference;
      cell.refuted = cell.regression() && second.difference && !second.regression();
    }
  }
}

std::size_t FolderComparison::regressions() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const ComparedCell& cell) { return cell.regression(); }));
}

double recorded_noise_floor(const record::ResultsFolder& folder) {
  const nlohmann::ordered_json& floor = value_at(folder.environment, "/noise/floor");
  if (floor.is_null()) {
    const std::optional<NoiseFloor> measured = noise_floor(folder.results);
    return measured ? measured->floor : 0;
  }
  if (!floor.is_number() || !(floor.get<double>() >= 0)) {
    throw FileError(
        fmt::format("{}: noise.floor is not a number of at least 0; remove it or measure again",
                    shown_path(folder.path / "environment.json")));
  }
  return floor.get<double>();
}

FolderComparison compare_folders(const record::ResultsFolder& base,
                                 const record::ResultsFolder& next,
                                 const CompareSettings& settings) {
  FolderComparison comparison;
  comparison.base = &base;
  comparison.next = &next;
  comparison.threshold = settings.threshold;
  comparison.noise_floor = std::max(recorded_noise_floor(base), recorded_noise_floor(next));
  comparison.cells = join(base, next);
  compare_times(comparison, settings);
  warn(comparison);
  return comparison;
}

}  // namespace headroom::judge
