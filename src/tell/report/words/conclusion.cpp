#include "report/words/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/call/demand.hpp"
#include "report/findings/recommended.hpp"
#include "report/words/answers.hpp"
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
  Shapes shapes;
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
    Shapes shapes = with_a_time(findings, demand);
    if (!shapes.empty()) questions.push_back({demand, std::move(shapes)});
  }
  return questions;
}

// Shapes for which nothing measured is better by more than the margin.
std::size_t good_in(const Shapes& shapes, const std::string& backend) {
  return static_cast<std::size_t>(
      std::count_if(shapes.begin(), shapes.end(), [&](const ShapeFindings* shape) {
        const Contest* best = shape->best_of(backend);
        return best != nullptr && best->loss() != judge::Loss::large;
      }));
}

bool unclear(const Recommended& choice) { return choice.sureness == Sureness::unknown; }

// "Link tbb.", "Link tbb: the best in 9 of 11 shapes.", "No answer yet: ...", or such as "Prefill:
// link tbb. Decode: link xsimd."
Prose headline_of(const std::vector<Question>& questions, const std::vector<Recommended>& choices) {
  if (std::all_of(choices.begin(), choices.end(), unclear)) {
    return {plain("No answer yet: measure longer, or on a quieter machine.")};
  }
  const std::string& first = choices.front().backend;
  if (std::all_of(choices.begin(), choices.end(), [&](const Recommended& choice) {
        return choice.backend == first && !unclear(choice);
      })) {
    std::size_t shapes = 0, good = 0;
    for (const Question& question : questions) {
      shapes += question.shapes.size();
      good += good_in(question.shapes, first);
    }
    return {
        plain("Link "), code(first),
        plain(good == shapes ? "." : fmt::format(": the best in {} of {} shapes.", good, shapes))};
  }
  Prose headline;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const char* name = questions[i].demand == Demand::prefill         ? "Prefill"
                       : pasts_of(questions[i].shapes) == Pasts::none ? "Few tokens"
                                                                      : "Decode";
    headline.push_back(plain(fmt::format("{}{}: ", i == 0 ? "" : " ", name)));
    if (unclear(choices[i])) {
      headline.push_back(plain("no answer yet, measure longer or on a quieter machine."));
    } else {
      append(headline, {plain("link "), code(choices[i].backend), plain(".")});
    }
  }
  return headline;
}

// What the paragraphs after it are about.
Prose demand_sentence(const Question& question) {
  if (question.demand == Demand::prefill) {
    return {strong("Prefill"),
            plain(fmt::format(" (more than {} tokens of a sequence in a call).", kFewRows))};
  }
  const std::string few = fmt::format(" (at most {} tokens of a sequence in a call, ", kFewRows);
  switch (pasts_of(question.shapes)) {
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
                const Recommended& choice, bool one_of_two) {
  const ShapeFindings& focus = focus_of(question.shapes, choice.backend);
  if (conclusion.focus.empty()) conclusion.focus = focus.contest_name;
  const Contest* best = choice.cell_of(focus);
  if (best == nullptr) best = focus.winner();
  // Without an answer, what follows is about the lowest median.
  const record::CellResult& told = *(unclear(choice) ? focus.winner() : best)->cell;
  for (Prose& prose :
       std::vector{paragraph({one_of_two ? demand_sentence(question) : Prose(),
                              link_sentence(focus, *best, choice.sureness),
                              focus_sentence(focus, *best, choice.sureness),
                              sureness_sentence(told.cell.backend, question.shapes),
                              unclear(choice) ? Prose() : open_sentence(choice.open, focus)}),
                   paragraph({limit_sentence(findings, told)})}) {
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
  std::vector<Recommended> choices;
  for (const Question& question : questions) {
    choices.push_back(recommended(question.shapes));
    add_answer(conclusion, findings, question, choices.back(), questions.size() > 1);
  }
  conclusion.headline = headline_of(questions, choices);
  conclusion.split = split_answer(findings);
  if (Prose prose = split_sentence(findings); !prose.empty()) {
    conclusion.sentences.push_back(std::move(prose));
  }
  for (const PrecisionFindings& shape : findings.precisions) {
    Prose prose = precision_sentence(shape);
    if (!prose.empty()) conclusion.sentences.push_back(std::move(prose));
  }
  conclusion.answers = answer_table(findings);
  Shapes all;
  for (const ShapeFindings& shape : findings.shapes) {
    if (shape.fastest) all.push_back(&shape);
  }
  show::Shares shares;
  conclusion.every_shape = shape_table(findings, all, shares);
  conclusion.shape_note = shape_note(shares);
  return conclusion;
}

}  // namespace headroom::report
