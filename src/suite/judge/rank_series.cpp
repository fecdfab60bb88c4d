#include "judge/rank_series.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "judge/rank_prediction.hpp"

namespace headroom::judge {
namespace {

using record::CellResult;
using Results = std::vector<const CellResult*>;

bool differ_in_ranks_alone(const CellResult& a, const CellResult& b) {
  return a.shape.id() == b.shape.id() && a.cell.backend == b.cell.backend &&
         a.cell.formulation == b.cell.formulation && a.cell.numbers == b.cell.numbers &&
         a.threads == b.threads;
}

Results on_several(const Results& results, const CellResult& one) {
  Results all;
  for (const CellResult* result : results) {
    if (result->has_time() && result->cell.ranks > 1 && differ_in_ranks_alone(*result, one)) {
      all.push_back(result);
    }
  }
  return all;
}

RankSeries series_of(const CellResult& one, const Results& several, const record::Link& link) {
  std::map<int, const CellResult*> measured{{1, &one}};
  for (const int ranks : predicted_ranks()) measured.try_emplace(ranks, nullptr);
  for (const CellResult* result : several) measured[result->cell.ranks] = result;
  RankSeries series{&one, {}};
  for (const auto& [ranks, result] : measured) {
    series.rows.push_back({ranks, result, predict_seconds(one.shape, one.phases, ranks, link)});
  }
  return series;
}

double best_on_several(const RankSeries& series) {
  double best = std::numeric_limits<double>::infinity();
  for (const RankRow& row : series.rows) {
    if (row.ranks > 1 && row.measured != nullptr) {
      best = std::min(best, row.measured->time.median);
    }
  }
  return best;
}

}  // namespace

std::vector<RankSeries> rank_series(const Results& results, const record::Link& link) {
  std::vector<RankSeries> all;
  std::map<std::string, std::size_t> places;
  for (const CellResult* one : results) {
    if (!one->has_time() || one->peer || one->cell.ranks > 1) continue;
    const Results several = on_several(results, *one);
    if (several.empty()) continue;
    RankSeries series = series_of(*one, several, link);
    const auto [place, fresh] = places.try_emplace(one->contest(), all.size());
    if (fresh) all.emplace_back();
    RankSeries& kept = all[place->second];
    if (fresh || best_on_several(series) < best_on_several(kept)) kept = std::move(series);
  }
  return all;
}

}  // namespace headroom::judge
