#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "program/numbers.hpp"
#include "report/words/sentences.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;
using record::CellResult;

std::string on_threads(const CellResult& cell) { return " on " + counted(cell.threads, "thread"); }

Piece confidence(const statistics::Interval& interval) {
  return plain(fmt::format(" (95 % confidence interval {})", range(interval)));
}

// Other formulations of the winning backend that are not shown to be slower.
std::vector<std::string> tied_formulations(const ShapeFindings& focus, const CellResult& fastest) {
  std::vector<std::string> names;
  for (const Contest& contest : focus.contests) {
    const plan::Cell& cell = contest.cell->cell;
    if (cell.backend != fastest.cell.backend || !contest.leads()) continue;
    if (cell.formulation == fastest.cell.formulation) continue;
    const std::string name(to_string(cell.formulation));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// The best cell of the backend that is furthest behind; null if none is shown to be slower.
const Contest* slowest_backend(const ShapeFindings& focus) {
  const Contest* slowest = nullptr;
  for (const Contest& contest : focus.contests) {
    const Contest* best = focus.best_of(contest.cell->cell.backend);
    if (best == nullptr || !best->behind_fastest) continue;
    if (best->behind_fastest->difference.verdict != Verdict::slower) continue;
    if (slowest == nullptr || slowest->cell->time.median < best->cell->time.median) slowest = best;
  }
  return slowest;
}

// The speed-up over the plain loops or, where those have no time, over the backend furthest behind.
Prose speed_up_clause(const ShapeFindings& focus, const Contest& best) {
  if (best.over_baseline) {
    const Versus& versus = *best.over_baseline;
    const Prose loops{plain("the plain loops of "), code(name_of(*versus.baseline)),
                      plain(on_threads(*versus.baseline))};
    if (versus.difference.verdict != Verdict::faster) {
      Prose prose{plain("no speed-up over ")};
      append(prose, loops);
      prose.push_back(plain(" can be shown"));
      return prose;
    }
    Prose prose{plain("it is "), strong(times(versus.speed_up())), plain(" as fast as ")};
    append(prose, loops);
    prose.push_back(confidence(versus.speed_up_ci95()));
    return prose;
  }
  const plan::Cell& cell = best.cell->cell;
  const bool itself = cell.backend == baseline_backend();
  const Contest* slowest = &best == focus.winner() ? slowest_backend(focus) : nullptr;
  if (slowest == nullptr && itself) return {plain("it is itself the baseline of all speed-ups")};
  const Prose no_loops{plain("the plain loops of "),
                       code(fmt::format("{}/{}", baseline_backend(), best.cell->way())),
                       plain(" have no time there")};
  if (slowest == nullptr) {
    Prose prose{plain("no speed-up can be given, because ")};
    append(prose, no_loops);
    return prose;
  }
  const judge::Difference& difference = slowest->behind_fastest->difference;
  Prose prose{plain("it is "),
              strong(times(difference.ratio)),
              plain(" as fast as "),
              code(name_of(*slowest->cell)),
              plain(on_threads(*slowest->cell)),
              confidence(difference.ci95)};
  if (!itself) {
    prose.push_back(plain("; "));
    append(prose, no_loops);
  }
  return prose;
}

// What the sentences are about: without an answer, the lowest median.
const Contest& told_of(const ShapeFindings& focus, const Contest& best, Sureness sureness) {
  const Contest* lowest = sureness == Sureness::unknown ? focus.winner() : nullptr;
  return lowest != nullptr ? *lowest : best;
}

// Why it is recommended although another one has the lowest median.
Prose lighter_clause(const ShapeFindings& focus, const Contest& best) {
  if (best.loss() != judge::Loss::little || !best.behind_fastest) return {};
  const double most = best.behind_fastest->difference.ci95.high - 1;
  return {plain(" The lowest median is that of "), code(name_of(*focus.winner()->cell)),
          plain(fmt::format("; at most {:.3g} % is lost (95 % confidence), and ",
                            100 * std::max(0.0, most))),
          code(best.cell->cell.backend), plain(" has fewer dependencies.")};
}

// What to use where the lowest median decides nothing.
Prose meanwhile_clause(const Contest& best) {
  if (!best.behind_fastest) return {};
  return {
      plain(" Until more is known, use "), code(name_of(*best.cell)),
      plain(fmt::format(", which takes {} times as long: of what cannot be distinguished, fewer "
                        "dependencies are preferred, and ",
                        range(best.behind_fastest->difference.ci95))),
      code("split"), plain(" to the other formulations.")};
}

}  // namespace

Prose link_sentence(const ShapeFindings& focus, const Contest& best, Sureness sureness) {
  const bool answered = sureness != Sureness::unknown;
  const Contest& told = told_of(focus, best, sureness);
  const CellResult& cell = *told.cell;
  Prose prose;
  if (!answered) {
    prose = {code(name_of(cell)), plain(" has the lowest median")};
  } else {
    prose = {plain("Link "), code(cell.cell.backend)};
    if (focus.shape.has_projections()) {
      append(prose, {plain(" and use its "), code(std::string(to_string(cell.cell.formulation))),
                     plain(" formulation")});
    }
  }
  prose.push_back(
      plain(fmt::format("{}: with {},{}, ",
                        cell.cell.numbers == Numbers{}
                            ? std::string()
                            : fmt::format(" with {}", headroom::to_string(cell.cell.numbers)),
                        name_of(focus.shape), on_threads(cell))));
  append(prose, speed_up_clause(focus, told));
  prose.push_back(plain("."));
  return prose;
}

Prose focus_sentence(const ShapeFindings& focus, const Contest& best, Sureness sureness) {
  const bool answered = sureness != Sureness::unknown;
  const CellResult& cell = *told_of(focus, best, sureness).cell;
  Prose prose{plain(fmt::format(
      "One pass takes {} (95 % confidence interval {} to {}).", format_seconds(cell.time.median),
      format_seconds(cell.time.ci95.low), format_seconds(cell.time.ci95.high)))};
  const std::string sample = rows_checked(cell);
  if (!sample.empty()) {
    prose.push_back(plain(fmt::format(" Its result was checked on {}.", sample)));
  }
  if (answered && &best != focus.winner()) {
    append(prose, lighter_clause(focus, best));
    return prose;
  }
  if (const Contest* next = focus.runner_up()) {
    const judge::Difference& difference = next->behind_fastest->difference;
    if (difference.verdict == Verdict::slower) {
      append(prose, {plain(" That is "), strong(times(difference.ratio)),
                     plain(" as fast as the next backend, "), code(name_of(*next->cell)),
                     plain(on_threads(*next->cell)), confidence(difference.ci95), plain(".")});
    } else {
      append(prose, {plain(" The next backend, "), code(name_of(*next->cell)),
                     plain(on_threads(*next->cell) + ", cannot be distinguished from "),
                     code(name_of(cell)), plain(".")});
    }
  }
  std::vector<std::string> tied = tied_formulations(focus, cell);
  if (!tied.empty()) {
    tied.insert(tied.begin(), std::string(to_string(cell.cell.formulation)));
    prose.push_back(plain(" No difference can be shown between its "));
    append(prose, listed(tied));
    prose.push_back(plain(" formulations."));
  }
  if (!answered) append(prose, meanwhile_clause(best));
  return prose;
}

}  // namespace headroom::report
