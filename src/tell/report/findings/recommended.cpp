#include "report/findings/recommended.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace headroom::report {

Recommended recommended(const Shapes& shapes) {
  std::map<std::string, judge::Contender> standings;
  for (const ShapeFindings* shape : shapes) {
    std::set<std::string> seen;
    for (const Contest& contest : shape->contests) {
      const std::string& name = contest.cell->cell.backend;
      const Contest* best = shape->best_of(name);
      if (best == nullptr || !seen.insert(name).second) continue;
      const auto [place, fresh] = standings.try_emplace(name);
      judge::Contender& standing = place->second;
      if (fresh) standing = {shapes.size(), 0, judge::Loss::little, judge::weight_by_facts(name)};
      --standing.missing;
      standing.behind += std::log(best->cell->time.median / shape->winner()->cell->time.median);
      standing.loss = std::max(standing.loss, best->loss());
    }
  }
  std::vector<std::string> names;
  std::vector<judge::Contender> contenders;
  for (auto& [name, standing] : standings) {
    standing.behind /= static_cast<double>(shapes.size() - standing.missing);
    names.push_back(name);
    contenders.push_back(standing);
  }
  const judge::LinkChoice choice = judge::choose_to_link(contenders);
  Recommended result{names[choice.chosen], {}};
  for (const std::size_t open : choice.open) result.open.push_back(names[open]);
  return result;
}

Sureness sureness_of(const ShapeFindings& shape, const std::string& backend) {
  const Contest* next = shape.runner_up();
  if (next == nullptr) return Sureness::alone;
  if (!next->behind_fastest->difference.enough) return Sureness::unknown;
  const std::vector<std::string> leaders = shape.leaders();
  if (leaders.size() == 1 && leaders.front() == backend) return Sureness::clear;
  const bool little = std::all_of(leaders.begin(), leaders.end(), [&](const std::string& name) {
    return shape.best_of(name)->loss() == judge::Loss::little;
  });
  return little && shape.best_of(backend)->loss() == judge::Loss::little ? Sureness::tie
                                                                         : Sureness::unknown;
}

}  // namespace headroom::report
