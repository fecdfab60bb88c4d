#include "report/findings/recommended.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace headroom::report {
namespace {

std::set<std::string> backends_of(const ShapeFindings& shape) {
  std::set<std::string> names;
  for (const Contest& contest : shape.contests) {
    const std::string& name = contest.cell->cell.backend;
    if (shape.best_of(name) != nullptr) names.insert(name);
  }
  return names;
}

Sureness sureness_of(const Shapes& shapes) {
  Sureness surest = Sureness::alone;
  for (const ShapeFindings* shape : shapes) {
    std::vector<judge::Showing> showings;
    for (const std::string& name : backends_of(*shape)) {
      showings.push_back({shape->leads(name), shape->best_of(name)->loss()});
    }
    surest = std::min(surest, judge::sureness_of(showings));
  }
  return surest;
}

judge::Contender contender_of(const ShapeFindings& shape, const Contest& contest) {
  return judge::contender_of(
      *contest.cell, *shape.winner()->cell,
      contest.behind_fastest ? contest.behind_fastest->difference : judge::no_difference(),
      judge::weight_by_facts(contest.cell->cell.backend));
}

const Contest* cell_to_take(const ShapeFindings& shape, const std::string& backend,
                            Sureness sureness) {
  const Contest* taken = shape.best_of(backend);
  if (sureness != Sureness::unknown) return taken;
  for (const Contest& contest : shape.contests) {
    if (contest.cell->cell.backend != backend || !contest.leads()) continue;
    if (preferred(contender_of(shape, contest), contender_of(shape, *taken))) taken = &contest;
  }
  return taken;
}

}  // namespace

const Contest* Recommended::cell_of(const ShapeFindings& shape) const {
  return cell_to_take(shape, backend, sureness);
}

Recommended recommended(const Shapes& shapes) {
  Recommended result;
  result.sureness = sureness_of(shapes);
  std::map<std::string, judge::Contender> standings;
  for (const ShapeFindings* shape : shapes) {
    for (const std::string& name : backends_of(*shape)) {
      const judge::Contender here =
          contender_of(*shape, *cell_to_take(*shape, name, result.sureness));
      const auto [place, fresh] = standings.try_emplace(name, here);
      judge::Contender& standing = place->second;
      if (fresh) {
        standing.missing = shapes.size();
      } else {
        standing.behind += here.behind;
        standing.loss = std::max(standing.loss, here.loss);
        standing.level = standing.level && here.level;
      }
      --standing.missing;
    }
  }
  std::vector<std::string> names;
  std::vector<judge::Contender> contenders;
  for (auto& [name, standing] : standings) {
    standing.behind /= static_cast<double>(shapes.size() - standing.missing);
    names.push_back(name);
    contenders.push_back(standing);
  }
  const judge::LinkChoice choice = judge::choose_to_link(contenders, result.sureness);
  result.backend = names[choice.chosen];
  for (const std::size_t open : choice.open) result.open.push_back(names[open]);
  return result;
}

}  // namespace headroom::report
