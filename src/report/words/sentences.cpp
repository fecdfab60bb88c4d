#include "report/words/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "program/numbers.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;
using record::CellResult;

// How a backend stands in a list of shapes.
struct Record {
  std::size_t alone = 0, shared = 0, behind = 0;
  std::vector<std::string> sharers, winners;
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

Record record_of(const std::string& backend, const Shapes& shapes) {
  Record record;
  for (const ShapeFindings* shape : shapes) {
    const std::vector<std::string> leaders = shape->leaders();
    if (!shape->leads(backend)) {
      ++record.behind;
      add_once(record.winners, leaders.front());
    } else if (leaders.size() == 1) {
      ++record.alone;
    } else {
      ++record.shared;
      for (const std::string& name : leaders) {
        if (name != backend) add_once(record.sharers, name);
      }
    }
  }
  return record;
}

bool compared(const Shapes& shapes) {
  return std::any_of(shapes.begin(), shapes.end(),
                     [](const ShapeFindings* shape) { return shape->runner_up() != nullptr; });
}

// "62 × as fast as naive/split on 1 thread (60.8 to 63.1)", or that nobody can tell.
Prose against(const CellResult& cell, const CellResult& other, const Versus& versus, bool inverse,
              const std::string& who) {
  const std::string threads =
      other.threads == cell.threads ? "" : " on " + counted(other.threads, "thread");
  const Verdict wanted = inverse ? Verdict::slower : Verdict::faster;
  if (versus.difference.verdict != wanted) {
    return {plain("not told apart from " + who), code(name_of(other)), plain(threads)};
  }
  const statistics::Interval interval = inverse ? versus.difference.ci95 : versus.speed_up_ci95();
  const double ratio = inverse ? versus.difference.ratio : versus.speed_up();
  return {strong(times(ratio)), plain(" as fast as " + who), code(name_of(other)),
          plain(fmt::format("{} ({})", threads, range(interval)))};
}

}  // namespace

Prose sureness_sentence(const std::string& backend, const Shapes& shapes) {
  if (!compared(shapes)) {
    return {plain("It is the only backend with a time there: nothing is compared.")};
  }
  const Record record = record_of(backend, shapes);
  if (shapes.size() == 1 && record.alone == 1) {
    return {strong("That is sure:"), plain(" every other backend is slower beyond the noise.")};
  }
  if (shapes.size() == 1) {
    Prose prose{strong("It is not alone:"), plain(" ")};
    append(prose, listed(record.sharers));
    prose.push_back(plain(" cannot be told apart from it."));
    return prose;
  }
  Prose prose{
      plain(fmt::format("Of the {} shapes measured with as many heads, it is the ", shapes.size())),
      strong(fmt::format("fastest beyond the noise in {}", record.alone))};
  const auto add = [&](const char* how, const std::vector<std::string>& names, std::size_t count) {
    if (count == 0) return;
    prose.push_back(plain(how));
    append(prose, listed(names));
    prose.push_back(plain(fmt::format(" in {}", count)));
  };
  add(", level with ", record.sharers, record.shared);
  add(", slower than ", record.winners, record.behind);
  prose.push_back(plain("."));
  return prose;
}

Prose focus_sentence(const ShapeFindings& focus, const Contest& best) {
  const CellResult& cell = *best.cell;
  Prose prose{
      plain(fmt::format("With {}, ", name_of(focus.shape))), code(name_of(cell)),
      plain(fmt::format(" on {} takes {} (95 % interval {} to {})", counted(cell.threads, "thread"),
                        format_seconds(cell.time.median), format_seconds(cell.time.ci95.low),
                        format_seconds(cell.time.ci95.high)))};
  if (best.over_baseline) {
    prose.push_back(plain(": "));
    append(prose, against(cell, *best.over_baseline->baseline, *best.over_baseline, false,
                          "the plain loops of "));
  }
  const Contest* next = focus.runner_up();
  if (next != nullptr && &best == focus.winner()) {
    prose.push_back(plain(best.over_baseline ? ", and " : ": "));
    append(prose, against(cell, *next->cell, *next->behind_fastest, true,
                          "the best of the other backends, "));
  }
  prose.push_back(plain("."));
  const std::string sample = rows_checked(cell);
  if (!sample.empty()) {
    prose.push_back(plain(fmt::format(" Its result was checked on {}.", sample)));
  }
  return prose;
}

Prose limit_sentence(const Findings& findings, const CellResult& cell) {
  const std::optional<Share> share = share_of_limit(*findings.folder, cell);
  if (!share) {
    return {plain("How far that is from the machine's limit is unknown: no peak was measured.")};
  }
  const std::string reached = fmt::format("{:.0f} %", 100 * share->value);
  const statistics::Interval ci95 = share_ci95(*share, cell);
  const std::string interval = fmt::format(" ({:.0f} to {:.0f})", 100 * ci95.low, 100 * ci95.high);
  if (!share->of_memory) {
    return {plain("The machine's limit there is arithmetic: it does "), strong(reached),
            plain(interval +
                  " of the multiply-adds that as many threads were measured to do beside it.")};
  }
  // The roof of memory is measured once a sweep, so that a machine that drifts may go above it.
  const char* beyond = ci95.low > 1
                           ? " More than all of it: part came from a cache, or the machine was "
                             "slower then."
                           : "";
  return {plain("The machine's limit there is memory: it moves its weights, input and output at "),
          strong(reached),
          plain(interval + " of the read bandwidth, which was measured once, before the cells." +
                beyond)};
}

// Of each backend, split on the most threads against wrapper.
Prose split_sentence(const ShapeFindings& focus) {
  std::map<std::string, const Contest*> most_threads;
  std::vector<std::string> names;
  for (const Contest& contest : focus.contests) {
    if (contest.cell->cell.formulation != Formulation::split || !contest.over_wrapper) continue;
    add_once(names, contest.cell->cell.backend);
    const Contest*& kept = most_threads[contest.cell->cell.backend];
    if (kept == nullptr || kept->cell->threads < contest.cell->threads) kept = &contest;
  }
  if (names.empty()) return {};
  Prose prose{plain("One matrix split into heads against one small matrix a head (wrapper): ")};
  std::vector<std::string> unclear;
  bool first = true;
  for (const std::string& name : names) {
    const Versus& versus = *most_threads.at(name)->over_wrapper;
    const Verdict verdict = versus.difference.verdict;
    if (verdict != Verdict::faster && verdict != Verdict::slower) {
      unclear.push_back(name);
      continue;
    }
    if (!first) prose.push_back(plain(", "));
    first = false;
    prose.push_back(code(name));
    prose.push_back(plain(" "));
    prose.push_back(strong(times(versus.speed_up())));
    prose.push_back(plain(fmt::format(" as fast ({})", range(versus.speed_up_ci95()))));
  }
  if (!unclear.empty()) {
    prose.push_back(
        plain(first ? "no difference that could be told with " : "; not told apart with "));
    append(prose, listed(unclear));
  }
  prose.push_back(plain("."));
  return prose;
}

Prose overall_sentence(const Findings& findings) {
  std::map<std::string, std::size_t> alone;
  std::size_t shared = 0, timed = 0;
  for (const ShapeFindings& shape : findings.shapes) {
    if (!shape.fastest) continue;
    ++timed;
    const std::vector<std::string> leaders = shape.leaders();
    const bool single = leaders.size() == 1 && shape.runner_up() != nullptr;
    single ? ++alone[leaders.front()] : ++shared;
  }
  std::vector<std::pair<std::string, std::size_t>> ranked(alone.begin(), alone.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Prose prose{plain(fmt::format("Over all {} with a time, the fastest beyond the noise is ",
                                counted(timed, "shape")))};
  for (const auto& [name, count] : ranked) {
    prose.push_back(code(name));
    const bool last = shared == 0 && &name == &ranked.back().first;
    prose.push_back(plain(fmt::format(" in {}{}", count, last ? "." : ", ")));
  }
  if (shared > 0) {
    prose.push_back(
        plain(fmt::format("{}no single backend in {}.", ranked.empty() ? "" : "and ", shared)));
  }
  return prose;
}

Prose without_times(const Findings& findings) {
  std::array<std::size_t, 5> counts{};
  for (const auto& result : findings.folder->results) {
    ++counts[static_cast<std::size_t>(result.status)];
  }
  std::string text;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i],
                        to_string(static_cast<record::Status>(i)));
  }
  return {plain(fmt::format("Of {}: {}. The reasons stand below.",
                            counted(findings.folder->results.size(), "cell"), text))};
}

}  // namespace headroom::report
