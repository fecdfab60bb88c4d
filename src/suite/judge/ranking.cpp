#include "judge/ranking.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "backends/backend.hpp"
#include "judge/noise.hpp"

namespace headroom::judge {
namespace {

template <class Wanted>
const record::CellResult* find_timed(const std::vector<const record::CellResult*>& rivals,
                                     Wanted wanted) {
  const auto found =
      std::find_if(rivals.begin(), rivals.end(), [&](const record::CellResult* rival) {
        return rival->has_time() && !rival->peer && wanted(*rival);
      });
  return found == rivals.end() ? nullptr : *found;
}

}  // namespace

const record::CellResult* baseline_of(const std::vector<const record::CellResult*>& rivals,
                                      const record::CellResult& cell) {
  return find_timed(rivals, [&](const record::CellResult& other) {
    return other.cell.backend == baseline_backend() && other.cell.ranks == 1 &&
           other.cell.formulation == cell.cell.formulation;
  });
}

const record::CellResult* wrapper_of(const std::vector<const record::CellResult*>& rivals,
                                     const record::CellResult& cell) {
  return find_timed(rivals, [&](const record::CellResult& other) {
    return other.cell.formulation == Formulation::wrapper &&
           other.cell.backend == cell.cell.backend && other.cell.ranks == cell.cell.ranks &&
           other.threads == cell.threads && other.cell.numbers == cell.cell.numbers;
  });
}

std::vector<CellDifference> compare_cells(const std::vector<CellPair>& pairs,
                                          const CompareSettings& settings) {
  std::vector<CellDifference> all;
  std::vector<SamplePair> compared;
  for (const CellPair& pair : pairs) {
    const auto& [base, next, noise_floor, one_machine, factor] = pair;
    const bool by_control = one_machine && same_control(*base, *next);
    all.push_back({{}, by_control, factor * next->time.median / base->time.median});
    compared.push_back({record::samples_of(*base, by_control),
                        record::samples_of(*next, by_control), noise_floor});
    for (std::vector<double>& samples : compared.back().next) {
      for (double& sample : samples) sample *= factor;
    }
  }
  const std::vector<Difference> differences = compare_samples(compared, settings);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].difference = differences[i];
  return all;
}

void Comparisons::add(const CellPair& pair, Answer answer) {
  if (pair.base == nullptr || pair.base == pair.next || !pair.next->has_time()) return;
  pairs_.push_back(pair);
  answers_.push_back(std::move(answer));
}

void Comparisons::add(const record::CellResult* base, const record::CellResult& next,
                      Answer answer) {
  add({base, &next, noise_floor_}, std::move(answer));
}

void Comparisons::run(const CompareSettings& settings) const {
  const std::vector<CellDifference> differences = compare_cells(pairs_, settings);
  for (std::size_t i = 0; i < answers_.size(); ++i) answers_[i](differences[i]);
}

std::vector<std::vector<Ranked>> rank(const std::vector<const record::CellResult*>& results,
                                      double noise_floor, const CompareSettings& settings) {
  std::vector<std::vector<Ranked>> shapes;
  std::map<std::string, std::size_t> places;
  for (const record::CellResult* result : results) {
    if (!result->has_time() || result->peer) continue;
    const auto [place, fresh] = places.try_emplace(result->contest(), shapes.size());
    if (fresh) shapes.emplace_back();
    shapes[place->second].push_back({result, {}});
  }
  rank_each(shapes, noise_floor, settings);
  return shapes;
}

void rank_each(std::vector<std::vector<Ranked>>& lists, double noise_floor,
               const CompareSettings& settings) {
  Comparisons comparisons(noise_floor);
  for (std::vector<Ranked>& rivals : lists) {
    if (rivals.empty()) continue;
    std::stable_sort(rivals.begin(), rivals.end(), [](const Ranked& a, const Ranked& b) {
      return a.result->time.median < b.result->time.median;
    });
    rivals.front().to_best = no_difference();
    for (Ranked& rival : rivals) {
      comparisons.add(rivals.front().result, *rival.result,
                      [&rival](const CellDifference& found) { rival.to_best = found.difference; });
    }
  }
  comparisons.run(settings);
}

}  // namespace headroom::judge
