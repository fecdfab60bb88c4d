#include "report/words/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/call/demand.hpp"
#include "judge/link_choice.hpp"
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

Shapes with_a_time(const Findings& findings, Demand demand) {
  Shapes shapes;
  const Numbers most_exact = most_exact_of(findings);
  for (const ShapeFindings& shape : findings.shapes) {
    if (shape.fastest && shape.numbers == most_exact && demand_of(shape.shape) == demand) {
      shapes.push_back(&shape);
    }
  }
  return shapes;
}

Shapes with_most_heads(const Shapes& timed) {
  Shapes shapes;
  for (const ShapeFindings* shape : timed) {
    if (!shapes.empty() && shape->shape.heads < shapes.front()->shape.heads) continue;
    if (!shapes.empty() && shape->shape.heads > shapes.front()->shape.heads) shapes.clear();
    shapes.push_back(shape);
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

// What to link for some shapes, by the rule that `pick` goes by.
struct Recommended {
  std::string backend;
  std::vector<std::string> open;  // lighter to link, and perhaps as good
};

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

Prose paragraph(std::vector<Prose> sentences) {
  Prose prose;
  for (Prose& sentence : sentences) {
    if (!prose.empty() && !sentence.empty()) prose.push_back(plain(" "));
    append(prose, std::move(sentence));
  }
  return prose;
}

// The question of one demand, or of all shapes if they have the same.
struct Question {
  Demand demand = Demand::prefill;
  Shapes most_heads;
};

// How many of the shapes have tokens before those of the call.
enum class Pasts { none, some, all };

Pasts pasts_of(const Shapes& shapes) {
  const auto with_past =
      std::count_if(shapes.begin(), shapes.end(),
                    [](const ShapeFindings* shape) { return shape->shape.past > 0; });
  if (with_past == 0) return Pasts::none;
  return static_cast<std::size_t>(with_past) == shapes.size() ? Pasts::all : Pasts::some;
}

std::vector<Question> questions_of(const Findings& findings) {
  std::vector<Question> questions;
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    Shapes shapes = with_most_heads(with_a_time(findings, demand));
    if (!shapes.empty()) questions.push_back({demand, std::move(shapes)});
  }
  return questions;
}

// "For 96 heads, link tbb.", or one of two such answers.
void add_headline(Prose& headline, const Question& question, const std::string& backend,
                  bool one_of_two) {
  const std::string heads = counted(question.most_heads.front()->shape.heads, "head");
  if (!one_of_two) {
    append(headline, {plain(fmt::format("For {}, link ", heads))});
  } else {
    const char* name = question.demand == Demand::prefill             ? "Prefill"
                       : pasts_of(question.most_heads) == Pasts::none ? "Few tokens"
                                                                      : "Decode";
    append(headline,
           {plain(fmt::format("{}{} with {}: link ", headline.empty() ? "" : " ", name, heads))});
  }
  append(headline, {code(backend), plain(".")});
}

// What the paragraphs after it are about.
Prose demand_sentence(const Question& question) {
  if (question.demand == Demand::prefill) {
    return {strong("Prefill"),
            plain(fmt::format(" (more than {} tokens of a sequence in a call).", kFewRows))};
  }
  const std::string few = fmt::format(" (at most {} tokens of a sequence in a call, ", kFewRows);
  switch (pasts_of(question.most_heads)) {
    case Pasts::none:
      return {strong("Few tokens"),
              plain(few + "the first ones: with an empty cache, which is no step of decoding).")};
    case Pasts::some:
      return {strong("Decode"), plain(few + "some after others, some with an empty cache).")};
    case Pasts::all:
      break;
  }
  return {strong("Decode"), plain(few + "after all that came before).")};
}

void add_answer(Conclusion& conclusion, const Findings& findings, const Question& question,
                bool one_of_two) {
  const auto [backend, open] = recommended(question.most_heads);
  add_headline(conclusion.headline, question, backend, one_of_two);
  const ShapeFindings& focus = focus_of(question.most_heads, backend);
  const Contest* best = focus.best_of(backend);
  if (best == nullptr) best = focus.winner();
  for (Prose& prose : std::vector{
           paragraph({one_of_two ? demand_sentence(question) : Prose(), link_sentence(focus, *best),
                      focus_sentence(focus, *best), sureness_sentence(backend, question.most_heads),
                      open_sentence(open, focus)}),
           paragraph({limit_sentence(findings, *best->cell)}),
           paragraph({split_sentence(focus)})}) {
    if (!prose.empty()) conclusion.sentences.push_back(std::move(prose));
  }
}

bool any_on_ranks(const Findings& findings) {
  const auto& results = findings.folder->results;
  return std::any_of(results.begin(), results.end(), [](const record::CellResult& result) {
    return result.has_time() && result.cell.ranks > 1;
  });
}

}  // namespace

Conclusion conclude(const Findings& findings) {
  Conclusion conclusion;
  const std::vector<Question> questions = questions_of(findings);
  if (questions.empty() && any_on_ranks(findings)) {
    conclusion.headline = {plain(
        "Every cell with a time is of several ranks, so nothing can be recommended to link.")};
    conclusion.sentences = {{plain("A program is linked as one process; measure "),
                             code("--ranks 1"), plain(" as well.")}};
    return conclusion;
  }
  if (questions.empty()) {
    conclusion.headline = {plain("No cell has a time, so nothing can be recommended.")};
    conclusion.sentences = {without_times(findings)};
    return conclusion;
  }
  Shapes most_heads;
  for (const Question& question : questions) {
    add_answer(conclusion, findings, question, questions.size() > 1);
    most_heads.insert(most_heads.end(), question.most_heads.begin(), question.most_heads.end());
  }
  if (findings.shapes.size() > most_heads.size()) {
    conclusion.sentences.push_back(overall_sentence(findings));
  }
  for (const PrecisionFindings& shape : findings.precisions) {
    Prose prose = precision_sentence(shape);
    if (!prose.empty()) conclusion.sentences.push_back(std::move(prose));
  }
  conclusion.most_heads = shape_table(findings, most_heads);
  Shapes all;
  for (const ShapeFindings& shape : findings.shapes) {
    if (shape.fastest) all.push_back(&shape);
  }
  conclusion.every_shape = shape_table(findings, all);
  return conclusion;
}

}  // namespace headroom::report
