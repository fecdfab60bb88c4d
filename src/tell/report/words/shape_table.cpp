#include "report/words/shape_table.hpp"

#include <fmt/format.h>

#include <string>

#include "backends/backend.hpp"
#include "program/numbers.hpp"
#include "report/words/wording.hpp"
#include "show/results_table.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;
using record::CellResult;

Prose speed_up(const std::optional<Versus>& versus) {
  if (!versus) return {plain("-")};
  if (versus->difference.verdict == Verdict::not_distinguishable) {
    return {plain("n.d.")};
  }
  return {plain(times(versus->speed_up()))};
}

Prose lead(const ShapeFindings& shape) {
  const Contest* next = shape.runner_up();
  if (next == nullptr) return {plain("-")};
  const judge::Difference& difference = next->behind_fastest->difference;
  Prose prose{code(next->cell->cell.backend)};
  if (difference.verdict == Verdict::slower) {
    prose.push_back(
        plain(fmt::format(" {} ({})", times(difference.ratio), range(difference.ci95))));
  }
  return prose;
}

Prose limit(const Findings& findings, const CellResult& cell, show::Shares& shares) {
  const std::optional<Share> share = share_of_limit(*findings.folder, cell, findings.roofs);
  if (!share) return {plain("-")};
  return {plain(limit_words(*share, shares))};
}

Prose checked(const CellResult& cell) {
  if (!cell.error) return {plain("-")};
  const std::string sample = rows_checked(cell);
  return {plain(sample.empty() ? "all rows" : sample)};
}

Prose sureness(const ShapeFindings& shape) {
  const Contest* next = shape.runner_up();
  if (next == nullptr) return {plain("nothing to compare")};
  if (!next->behind_fastest->difference.enough) return {plain("unclear: one launch only")};
  const std::vector<std::string> leaders = shape.leaders();
  if (leaders.size() == 1) return {strong("clear")};
  std::vector<std::string> tied, doubtful;
  for (const std::string& name : leaders) {
    if (name == leaders.front()) continue;
    const bool little = shape.best_of(name)->loss() == judge::Loss::little;
    (little ? tied : doubtful).push_back(name);
  }
  Prose prose;
  if (!tied.empty()) {
    append(prose, {plain("tied with ")});
    append(prose, listed(tied));
  }
  if (!doubtful.empty()) {
    append(prose,
           {plain(tied.empty() ? "not distinguishable from " : "; not distinguishable from ")});
    append(prose, listed(doubtful));
  }
  return prose;
}

}  // namespace

Table shape_table(const Findings& findings, const std::vector<const ShapeFindings*>& shapes,
                  show::Shares& shares) {
  Table table;
  table.columns = {{"shape", false},
                   {"fastest", false},
                   {"result", false},
                   {"threads", true},
                   {"time", true},
                   {"±", true},
                   {fmt::format("over {}", baseline_backend()), true},
                   {"of limit", false},
                   {"next backend", false},
                   {"checked", false}};
  for (const ShapeFindings* shape : shapes) {
    const Contest& winner = *shape->winner();
    const CellResult& cell = *winner.cell;
    table.rows.push_back({{plain(name_of(*shape))},
                          {code(name_of(cell))},
                          sureness(*shape),
                          {plain(threads_words(cell, findings.roofs))},
                          {plain(format_seconds(cell.time.median))},
                          {plain(format_share(show::half_width(cell.time), 1))},
                          speed_up(winner.over_baseline),
                          limit(findings, cell, shares),
                          lead(*shape),
                          checked(cell)});
  }
  return table;
}

Prose shape_note(const show::Shares& shares) {
  Prose note{
      plain("One row per shape, with its fastest cell. "), strong("Tied with"),
      plain(": you lose little by linking any of these. "), strong("Not distinguishable"),
      plain(" (n.d.): they may be as fast or slower. ± is half the 95 % confidence interval of "
            "the time.")};
  for (const std::string& reason : shares.reasons()) note.push_back(plain(" " + reason + "."));
  return note;
}

}  // namespace headroom::report
