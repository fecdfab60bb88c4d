#include "report/words/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "program/numbers.hpp"
#include "report/findings/recommended.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;
using record::CellResult;

// What a row says.
struct Answer {
  const ShapeFindings* shape = nullptr;
  const Contest* best = nullptr;  // the cell to link
  Sureness sureness = Sureness::alone;
  const Contest* next = nullptr;  // of another backend; null without one
};

// What stands beside the recommended backend: one that cannot be told apart from it, or else the
// next one.
const Contest* next_of(const ShapeFindings& shape, const std::string& backend) {
  for (const std::string& name : shape.leaders()) {
    if (name != backend) return shape.best_of(name);
  }
  return shape.winner()->cell->cell.backend == backend ? shape.runner_up() : shape.winner();
}

std::vector<Answer> answers_of(const Findings& findings) {
  std::vector<Answer> answers;
  for (const ShapeFindings& shape : findings.shapes) {
    if (!shape.fastest) continue;
    const Recommended choice = recommended({&shape});
    answers.push_back(
        {&shape, choice.cell_of(shape), choice.sureness, next_of(shape, choice.backend)});
  }
  return answers;
}

// How much slower the next backend is; empty where that is not sure.
std::optional<double> lead_of(const Answer& answer) {
  if (answer.sureness != Sureness::clear || !answer.next->behind_fastest) return std::nullopt;
  return answer.next->behind_fastest->difference.ratio;
}

std::optional<double> speed_up_of(const Answer& answer) {
  const std::optional<Versus>& over = answer.best->over_baseline;
  if (!over || over->difference.verdict != Verdict::faster) return std::nullopt;
  return over->speed_up();
}

double tokens_per_second(const CellResult& cell) {
  return static_cast<double>(cell.shape.rows()) / cell.time.median;
}

// To three digits.
std::string rate(double per_second) {
  for (const auto& [least, suffix] : {std::pair(1e9, " G"), {1e6, " M"}, {1e4, " k"}}) {
    if (per_second >= 0.9995 * least)
      return fmt::format("{:.3g}{}", per_second / (least == 1e4 ? 1e3 : least), suffix);
  }
  return fmt::format("{:.0f}", per_second);
}

std::string next_words(const Answer& answer, const char* sign) {
  if (answer.next == nullptr) return "-";
  const std::string& backend = answer.next->cell->cell.backend;
  if (const std::optional<double> lead = lead_of(answer)) {
    return fmt::format("{:.3g}{} {}", *lead, sign, backend);
  }
  return answer.sureness == Sureness::tie ? fmt::format("level with {}", backend) : backend;
}

std::string loops_words(const Answer& answer, const char* sign) {
  const std::optional<double> speed_up = speed_up_of(answer);
  return speed_up ? fmt::format("{:.3g}{}", *speed_up, sign) : "-";
}

}  // namespace

Table answer_table(const Findings& findings) {
  Table table;
  table.columns = {{"shape", false},           {"link", false},     {"threads", true},
                   {"how sure", false},        {"runner-up", true}, {"over plain loops", true},
                   {"tokens per second", true}};
  for (const Answer& answer : answers_of(findings)) {
    const CellResult& cell = *answer.best->cell;
    const Piece sure = answer.sureness == Sureness::clear
                           ? strong(std::string(judge::to_string(answer.sureness)))
                           : plain(std::string(judge::to_string(answer.sureness)));
    table.rows.push_back({{plain(report::name_of(*answer.shape))},
                          {code(report::name_of(cell))},
                          {plain(fmt::format("{}", cell.threads))},
                          {sure},
                          {plain(next_words(answer, " ×"))},
                          {plain(loops_words(answer, " ×"))},
                          {plain(rate(tokens_per_second(cell)))}});
  }
  return table;
}

Prose answer_note() {
  return {plain("How sure: "),
          strong("clear"),
          plain(", every other backend is slower by more than the noise; "),
          strong("tie"),
          plain(", any backend that is level with it is a safe choice; "),
          strong("unclear"),
          plain(", another may be as fast or faster, so measure longer or on a quieter machine. "
                "Runner-up: the next backend, with its time over that of this one.")};
}

std::string answer_lines(const Findings& findings) {
  constexpr std::size_t kLine = 100;
  constexpr const char* kHead = "what to link";
  const std::vector<Answer> answers = answers_of(findings);
  if (answers.empty()) return "";
  std::size_t link_width = 4;
  std::size_t shape_width = std::string_view(kHead).size();
  for (const Answer& answer : answers) {
    link_width = std::max(link_width, report::name_of(*answer.best->cell).size());
    shape_width = std::max(shape_width, answer.shape->shape.id().size());
  }
  const auto columns = [&](const auto&... cells) {
    return fmt::format("  {:<{}}  {:>7}  {:<9}  {:<17}  {:>7}  {:>8}\n", cells...);
  };
  const std::string head =
      columns("link", link_width, "threads", "sure", "runner-up", "loops", "tokens/s");
  // A shape too long for the line has one of its own, so that no figure is ever cut off.
  shape_width = std::min(shape_width, kLine + 1 - head.size());
  std::string text = fmt::format("{:<{}}{}", kHead, shape_width, head);
  for (const Answer& answer : answers) {
    const CellResult& cell = *answer.best->cell;
    std::string shape = answer.shape->shape.id();
    if (shape.size() > shape_width) {
      text += shape + "\n";
      shape.clear();
    }
    text += fmt::format("{:<{}}", shape, shape_width) +
            columns(report::name_of(cell), link_width, cell.threads,
                    std::string(judge::to_string(answer.sureness)), next_words(answer, "x"),
                    loops_words(answer, "x"), rate(tokens_per_second(cell)));
  }
  const bool doubtful = std::any_of(answers.begin(), answers.end(), [](const Answer& answer) {
    return answer.sureness == Sureness::unknown;
  });
  if (doubtful) {
    text += "unclear: another may be as fast or faster; measure longer, or on a quieter machine\n";
  }
  return text;
}

}  // namespace headroom::report
