#include "report/words/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "program/numbers.hpp"
#include "report/words/sentences.hpp"
#include "report/words/shape_table.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

std::size_t timed_cells(const ShapeFindings& shape) {
  return static_cast<std::size_t>(std::count_if(
      shape.contests.begin(), shape.contests.end(),
      [](const Contest& contest) { return contest.cell->has_time() && !contest.cell->peer; }));
}

Shapes with_most_heads(const Findings& findings) {
  Shapes shapes;
  for (const ShapeFindings& shape : findings.shapes) {
    if (!shape.fastest) continue;
    if (!shapes.empty() && shape.shape.heads < shapes.front()->shape.heads) continue;
    if (!shapes.empty() && shape.shape.heads > shapes.front()->shape.heads) shapes.clear();
    shapes.push_back(&shape);
  }
  return shapes;
}

// A shape where the recommended backend leads: the one with the most rivals, then the one with the
// most work.
const ShapeFindings& focus_of(const Shapes& shapes, const std::string& backend) {
  const auto weight = [&](const ShapeFindings* shape) {
    return std::make_tuple(shape->leads(backend), timed_cells(*shape),
                           shape->shape.flops().total());
  };
  return **std::max_element(
      shapes.begin(), shapes.end(),
      [&](const ShapeFindings* a, const ShapeFindings* b) { return weight(a) < weight(b); });
}

// The backend that leads in the most shapes; a tie goes to the one that is closer to the fastest.
std::string recommended(const Shapes& shapes) {
  struct Standing {
    std::size_t leads = 0;
    double log_behind = 0;
  };
  std::map<std::string, Standing> standings;
  for (const ShapeFindings* shape : shapes) {
    std::set<std::string> seen;
    for (const Contest& contest : shape->contests) {
      const std::string& name = contest.cell->cell.backend;
      const Contest* best = shape->best_of(name);
      if (best == nullptr || !seen.insert(name).second) continue;
      Standing& standing = standings[name];
      standing.leads += shape->leads(name) ? 1 : 0;
      standing.log_behind += std::log(best->cell->time.median / shape->winner()->cell->time.median);
    }
  }
  return std::max_element(standings.begin(), standings.end(),
                          [](const auto& a, const auto& b) {
                            return std::pair(a.second.leads, -a.second.log_behind) <
                                   std::pair(b.second.leads, -b.second.log_behind);
                          })
      ->first;
}

Prose paragraph(std::vector<Prose> sentences) {
  Prose prose;
  for (Prose& sentence : sentences) {
    if (!prose.empty() && !sentence.empty()) prose.push_back(plain(" "));
    append(prose, std::move(sentence));
  }
  return prose;
}

}  // namespace

Conclusion conclude(const Findings& findings) {
  Conclusion conclusion;
  const Shapes shapes = with_most_heads(findings);
  if (shapes.empty()) {
    conclusion.headline = {plain("No cell has a time, so nothing can be recommended.")};
    conclusion.sentences = {without_times(findings)};
    return conclusion;
  }
  const std::string backend = recommended(shapes);
  const std::int64_t heads = shapes.front()->shape.heads;
  conclusion.headline = {plain(fmt::format("For {}, link ", counted(heads, "head"))), code(backend),
                         plain(".")};
  const ShapeFindings& focus = focus_of(shapes, backend);
  const Contest* best = focus.best_of(backend);
  if (best == nullptr) best = focus.winner();
  const bool more = findings.shapes.size() > shapes.size();
  conclusion.sentences = {
      paragraph({link_sentence(focus, *best), focus_sentence(focus, *best),
                 sureness_sentence(backend, shapes)}),
      paragraph({limit_sentence(findings, *best->cell)}),
      paragraph({split_sentence(focus), more ? overall_sentence(findings) : Prose()})};
  std::erase_if(conclusion.sentences, [](const Prose& prose) { return prose.empty(); });
  conclusion.most_heads = shape_table(findings, shapes);
  Shapes all;
  for (const ShapeFindings& shape : findings.shapes) {
    if (shape.fastest) all.push_back(&shape);
  }
  conclusion.every_shape = shape_table(findings, all);
  return conclusion;
}

}  // namespace headroom::report
