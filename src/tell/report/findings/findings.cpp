#include "report/findings/findings.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "judge/compare.hpp"
#include "judge/competes.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/ranking.hpp"

namespace headroom::report {
namespace {

using judge::competes;
using judge::Verdict;
using record::CellResult;

// Comparisons of all shapes are collected first, because they are corrected together.
void ask_all(ShapeFindings& shape, judge::Comparisons& comparisons, std::size_t& by_control) {
  std::vector<const CellResult*> rivals;
  for (const Contest& contest : shape.contests) rivals.push_back(contest.cell);
  const CellResult* fastest = shape.fastest ? shape.winner()->cell : nullptr;
  for (Contest& contest : shape.contests) {
    const CellResult& cell = *contest.cell;
    const auto ask = [&](const CellResult* baseline, std::optional<Versus>& answer) {
      comparisons.add(baseline, cell,
                      [baseline, &answer, &by_control](const judge::CellDifference& found) {
                        answer = Versus{baseline, found.difference};
                        by_control += found.by_control ? 1 : 0;
                      });
    };
    ask(judge::baseline_of(rivals, cell), contest.over_baseline);
    ask(judge::wrapper_of(rivals, cell), contest.over_wrapper);
    if (!cell.peer) ask(fastest, contest.behind_fastest);
  }
}

void find_fastest(ShapeFindings& shape) {
  for (std::size_t i = 0; i < shape.contests.size(); ++i) {
    const CellResult& cell = *shape.contests[i].cell;
    if (!competes(cell)) continue;
    if (!shape.fastest || cell.time.median < shape.winner()->cell->time.median) shape.fastest = i;
  }
}

std::vector<ShapeFindings> findings_by_shape(const record::ResultsFolder& folder) {
  std::vector<ShapeFindings> shapes;
  std::map<std::string, std::size_t> places;
  for (const CellResult* result : record::in_order(folder)) {
    const auto [place, fresh] = places.try_emplace(result->contest(), shapes.size());
    const Numbers& numbers = result->cell.numbers;
    if (fresh) {
      shapes.push_back({result->shape, result->contest(), accuracy_class(numbers), {}, {}});
    }
    shapes[place->second].contests.push_back({result, {}, {}, {}});
  }
  for (ShapeFindings& shape : shapes) find_fastest(shape);
  return shapes;
}

// The fastest contest among the wanted backends; null if none has a time.
template <class Wanted>
const Contest* fastest_where(const ShapeFindings& shape, Wanted wanted) {
  const Contest* best = nullptr;
  for (const Contest& contest : shape.contests) {
    const CellResult& cell = *contest.cell;
    if (!competes(cell) || !wanted(cell.cell.backend)) continue;
    if (best == nullptr || cell.time.median < best->cell->time.median) best = &contest;
  }
  return best;
}

}  // namespace

bool Contest::leads() const {
  if (!competes(*cell)) return false;
  return !behind_fastest || behind_fastest->difference.verdict != Verdict::slower;
}

judge::Loss Contest::loss() const {
  return behind_fastest ? judge::loss_of(behind_fastest->difference) : judge::Loss::little;
}

std::vector<std::string> ShapeFindings::leaders() const {
  std::vector<const Contest*> leading;
  for (const Contest& each : contests) {
    if (each.leads()) leading.push_back(&each);
  }
  std::stable_sort(leading.begin(), leading.end(), [](const Contest* a, const Contest* b) {
    return a->cell->time.median < b->cell->time.median;
  });
  std::vector<std::string> names;
  for (const Contest* leader : leading) {
    const std::string& name = leader->cell->cell.backend;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool ShapeFindings::leads(const std::string& backend) const {
  return std::any_of(contests.begin(), contests.end(), [&](const Contest& each) {
    return each.cell->cell.backend == backend && each.leads();
  });
}

const Contest* ShapeFindings::runner_up() const {
  const std::string& first = winner()->cell->cell.backend;
  return fastest_where(*this, [&](const std::string& backend) { return backend != first; });
}

const Contest* ShapeFindings::best_of(const std::string& backend) const {
  return fastest_where(*this, [&](const std::string& name) { return name == backend; });
}

Numbers most_exact_of(const Findings& findings) {
  std::optional<Numbers> best;
  for (const ShapeFindings& shape : findings.shapes) {
    if (!shape.fastest) continue;
    const auto order = [](const Numbers& numbers) {
      return std::pair(numbers.as_stored(), numbers.precision);
    };
    if (!best || order(shape.numbers) < order(*best)) best = shape.numbers;
  }
  return best.value_or(Numbers{});
}

Findings find_out(const record::ResultsFolder& folder) {
  Findings findings;
  findings.folder = &folder;
  findings.roofs = judge::roofs_of(folder);
  findings.noise_floor = judge::recorded_noise_floor(folder);
  findings.margin = std::max(judge::CompareSettings{}.threshold, findings.noise_floor);
  findings.shapes = findings_by_shape(folder);
  judge::Comparisons comparisons(findings.noise_floor);
  for (ShapeFindings& shape : findings.shapes) ask_all(shape, comparisons, findings.by_control);
  findings.peers = judge::peer_blocks(folder);
  judge::compare_peers(findings.peers, comparisons);
  findings.precisions = find_precisions(folder);
  compare_precisions(findings.precisions, comparisons, findings.by_control);
  comparisons.run();
  mark_front(findings.precisions);
  findings.comparisons = comparisons.size();
  return findings;
}

}  // namespace headroom::report
