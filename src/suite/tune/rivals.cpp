#include "tune/rivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "judge/noise.hpp"
#include "judge/ranking.hpp"
#include "measure/runner.hpp"

namespace headroom::tune {
namespace {

using record::CellResult;

const CellResult* result_of(const std::vector<CellResult>& results, const plan::Cell& cell) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult& result) {
    return result.cell.id == cell.id;
  });
  if (found == results.end()) return nullptr;
  if (found->has_time()) return &*found;
  throw std::runtime_error(
      fmt::format("tune: {} {}: {}", cell.id, record::to_string(found->status), found->reason));
}

}  // namespace

std::optional<std::vector<judge::Difference>> compare_with_first(const plan::Plan& plan,
                                                                 const measure::Settings& settings,
                                                                 measure::Observer& observer) {
  const std::vector<CellResult> results = measure::run_plan(plan, settings, observer);
  const auto noise = judge::noise_floor(results);
  std::vector<judge::CellPair> pairs;
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) {
      const CellResult* result = result_of(results, cell);
      if (result == nullptr) return std::nullopt;
      if (cell.order == 0) continue;
      pairs.push_back({result_of(results, group.cells.front()), result, noise ? noise->floor : 0});
    }
  }
  std::vector<judge::Difference> differences;
  for (const judge::CellDifference& one : judge::compare_cells(pairs)) {
    differences.push_back(one.difference);
  }
  return differences;
}

}  // namespace headroom::tune
