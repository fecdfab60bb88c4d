#include "bisect/side_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "judge/noise.hpp"
#include "record/control.hpp"
#include "statistics/samples.hpp"

namespace headroom::bisect {
namespace {

using record::CellResult;
using statistics::SamplesByProcess;

const CellResult* find(const record::ResultsFolder& folder, const std::string& id) {
  const auto result = std::find_if(folder.results.begin(), folder.results.end(),
                                   [&](const CellResult& each) { return each.cell.id == id; });
  return result == folder.results.end() ? nullptr : &*result;
}

// The results of one cell in every round of every program.
struct Gathered {
  std::vector<std::vector<const CellResult*>> programs;
  bool by_control = true;
  std::string missing;  // why it cannot be compared
};

Gathered gather(const std::vector<const Rounds*>& programs, const std::string& id) {
  Gathered all;
  for (const Rounds* rounds : programs) {
    std::vector<const CellResult*>& results = all.programs.emplace_back();
    for (const record::ResultsFolder& folder : *rounds) {
      const CellResult* result = find(folder, id);
      if (result == nullptr || !result->has_time()) {
        all.missing = fmt::format("no time of {}: {}", id,
                                  result == nullptr ? "it was not measured" : result->reason);
        return all;
      }
      results.push_back(result);
      const CellResult& first = *all.programs.front().front();
      all.by_control = all.by_control && judge::same_control(first, *result);
    }
  }
  return all;
}

SamplesByProcess samples(const std::vector<const CellResult*>& results, bool by_control) {
  SamplesByProcess all;
  for (const CellResult* result : results) {
    for (std::vector<double>& own : record::samples_of(*result, by_control)) {
      all.push_back(std::move(own));
    }
  }
  return all;
}

// The geometric mean over cells, launch by launch. Launches that some cell lacks are left out.
SamplesByProcess joined(const std::vector<Gathered>& cells, std::size_t program) {
  std::vector<double> sums;
  for (const Gathered& cell : cells) {
    const std::vector<double> medians =
        statistics::process_medians(samples(cell.programs[program], cell.by_control));
    if (&cell == &cells.front()) sums.resize(medians.size(), 0);
    sums.resize(std::min(sums.size(), medians.size()));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += std::log(medians[i]);
  }
  SamplesByProcess all;
  for (const double sum : sums) all.push_back({std::exp(sum / static_cast<double>(cells.size()))});
  return all;
}

// How far the second timing of the same layer is from the first, over all rounds: those of one
// round are too few to know it by. Nothing for a cell that was timed once.
std::optional<double> twin_difference(const std::vector<const CellResult*>& results,
                                      bool by_control) {
  std::vector<double> twins;
  for (const CellResult* result : results) {
    if (!result->again) return std::nullopt;
    const std::vector<double> own =
        by_control ? record::steadied(result->again->samples, result->again->control)
                   : result->again->samples;
    twins.insert(twins.end(), own.begin(), own.end());
  }
  const double first = statistics::pooled_median(samples(results, by_control));
  return std::abs(statistics::median(std::move(twins)) / first - 1);
}

// As `judge::noise_floor`, of all rounds together; 0 without cells that were timed twice.
double noise_floor(const std::vector<Gathered>& cells) {
  std::vector<double> off;
  for (const Gathered& cell : cells) {
    for (const std::vector<const CellResult*>& results : cell.programs) {
      const std::optional<double> own = twin_difference(results, cell.by_control);
      if (own) off.push_back(*own);
    }
  }
  return off.empty() ? 0 : statistics::percentile(std::move(off), 0.95);
}

double ratio_of(const SamplesByProcess& base, const SamplesByProcess& next) {
  return statistics::pooled_median(next) / statistics::pooled_median(base);
}

}  // namespace

EndsDifference compare_ends(const Rounds& good, const Rounds& bad, double threshold) {
  EndsDifference ends;
  std::vector<Gathered> cells;
  std::vector<std::string> ids;
  std::vector<judge::SamplePair> pairs;
  for (const CellResult* result : record::in_order(good.front())) {
    Gathered cell = gather({&good, &bad}, result->cell.id);
    if (!cell.missing.empty()) continue;
    pairs.push_back(
        {samples(cell.programs[0], cell.by_control), samples(cell.programs[1], cell.by_control)});
    ids.push_back(result->cell.id);
    cells.push_back(std::move(cell));
  }
  ends.compared = pairs.size();
  const double floor = noise_floor(cells);
  for (judge::SamplePair& pair : pairs) pair.noise_floor = floor;
  ends.margin = std::max(threshold, floor);
  judge::CompareSettings settings;
  settings.threshold = threshold;
  const std::vector<judge::Difference> differences = judge::compare_samples(pairs, settings);
  std::vector<Gathered> slower;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const judge::Verdict verdict = differences[i].verdict;
    ends.in_doubt = ends.in_doubt || verdict == judge::Verdict::not_distinguishable;
    if (verdict != judge::Verdict::slower) continue;
    ends.slower.push_back({ids[i], differences[i]});
    slower.push_back(std::move(cells[i]));
  }
  if (!slower.empty()) ends.ratio = ratio_of(joined(slower, 0), joined(slower, 1));
  return ends;
}

Place side_of(const Rounds& good, const Rounds& commit, const Rounds& bad,
              const std::vector<std::string>& ids) {
  std::vector<Gathered> cells;
  for (const std::string& id : ids) {
    cells.push_back(gather({&good, &commit, &bad}, id));
    if (!cells.back().missing.empty()) {
      return {Finding::unbuildable, 1, false, cells.back().missing};
    }
  }
  const SamplesByProcess of_good = joined(cells, 0);
  const SamplesByProcess own = joined(cells, 1);
  const SamplesByProcess of_bad = joined(cells, 2);
  Place place;
  place.ratio = ratio_of(of_good, own);
  const bool nearer_to_bad = place.ratio > std::sqrt(ratio_of(of_good, of_bad));
  // Any difference counts: that both ends differ by enough to matter is known.
  judge::CompareSettings settings;
  settings.threshold = 0;
  const std::vector<judge::Difference> differences =
      judge::compare_samples({{of_good, own}, {own, of_bad}}, settings);
  const bool slower_than_good = differences[0].verdict == judge::Verdict::slower;
  const bool faster_than_bad = differences[1].verdict == judge::Verdict::slower;
  place.between = slower_than_good && faster_than_bad;
  if (nearer_to_bad && slower_than_good) place.finding = Finding::bad;
  if (!nearer_to_bad && faster_than_bad) place.finding = Finding::good;
  return place;
}

}  // namespace headroom::bisect
