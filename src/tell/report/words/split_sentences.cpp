// One wide matrix in place of one small matrix per head: the answer, and the figures behind it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "program/numbers.hpp"
#include "report/findings/split_gains.hpp"
#include "report/words/sentences.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::Verdict;
using AtHeads = SplitGains::AtHeads;
using Cells = std::vector<const Contest*>;

Verdict verdict_of(const Contest* cell) { return cell->over_wrapper->difference.verdict; }
double speed_up_of(const Contest* cell) { return cell->over_wrapper->speed_up(); }

bool differs(const Contest* cell) {
  return verdict_of(cell) == Verdict::faster || verdict_of(cell) == Verdict::slower;
}

bool by_speed_up(const Contest* a, const Contest* b) { return speed_up_of(a) < speed_up_of(b); }

template <class Wanted>
Cells only(const Cells& cells, Wanted wanted) {
  Cells kept;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(kept), wanted);
  return kept;
}

Cells of_verdict(const Cells& cells, Verdict verdict) {
  return only(cells, [&](const Contest* cell) { return verdict_of(cell) == verdict; });
}

std::vector<std::string> backends_of(const Cells& cells) {
  std::vector<std::string> names;
  for (const Contest* cell : cells) {
    const std::string& name = cell->cell->cell.backend;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// One decimal, and two where one would hide the difference.
std::string factor(double speed_up) {
  return speed_up < 1.095 ? fmt::format("{:.2f} ×", speed_up) : fmt::format("{:.1f} ×", speed_up);
}

Prose factor_and_backends(const std::string& factor, const std::vector<std::string>& backends) {
  Prose prose{strong(factor), plain(" (")};
  append(prose, listed(backends));
  prose.push_back(plain(")"));
  return prose;
}

Prose factor_of(const Contest* cell) {
  return factor_and_backends(factor(speed_up_of(cell)), backends_of({cell}));
}

// The smallest and the largest: "1.4 × (`naive`) to 3.5 × (`onednn`)".
Prose range_of(const Cells& cells) {
  const auto [least, most] = std::minmax_element(cells.begin(), cells.end(), by_speed_up);
  const std::string one = factor(speed_up_of(*least));
  if (one == factor(speed_up_of(*most))) return factor_and_backends(one, backends_of(cells));
  Prose prose = factor_of(*least);
  prose.push_back(plain(" to "));
  append(prose, factor_of(*most));
  return prose;
}

// "`xsimd` and `tbb` are level"
Prose they_are(const std::vector<std::string>& backends, const char* what) {
  Prose prose = listed(backends);
  prose.push_back(plain(fmt::format(" {} {}", backends.size() == 1 ? "is" : "are", what)));
  return prose;
}

Prose unclear_clause(const std::vector<std::string>& backends) {
  Prose prose{plain("no difference can be shown for ")};
  append(prose, listed(backends));
  return prose;
}

// "1, 12 and 48"; of many "1 to 48", which follow each other in the series.
std::string numbers_of_heads(const std::vector<AtHeads>& group) {
  constexpr std::size_t kMost = 3;
  if (group.size() > kMost) {
    return fmt::format("{} to {}", group.front().heads(), group.back().heads());
  }
  std::string text;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 == group.size() ? " and " : ", ";
    text += fmt::format("{}{}", before, group[i].heads());
  }
  return text;
}

enum class State { level, unclear, differs };

State state_of(const AtHeads& at) {
  if (std::any_of(at.cells.begin(), at.cells.end(), differs)) return State::differs;
  return of_verdict(at.cells, Verdict::same).size() == at.cells.size() ? State::level
                                                                       : State::unclear;
}

// Numbers of heads that follow each other and of which the same can be said; the most heads with a
// difference have their own clause, because there the question is answered.
std::vector<std::vector<AtHeads>> groups_of(const SplitGains& series) {
  std::vector<std::vector<AtHeads>> groups;
  for (const AtHeads& at : series.by_heads) {
    const bool last =
        std::none_of(series.by_heads.begin(), series.by_heads.end(), [&](const AtHeads& other) {
          return other.heads() > at.heads() && state_of(other) == State::differs;
        });
    const bool alone = last && state_of(at) == State::differs;
    if (groups.empty() || alone || state_of(groups.back().back()) != state_of(at)) {
      groups.emplace_back();
    }
    groups.back().push_back(at);
  }
  return groups;
}

// Backends that no number of heads of the series makes faster or slower.
std::vector<std::string> steady_backends(const SplitGains& series) {
  Cells all;
  for (const AtHeads& at : series.by_heads) {
    all.insert(all.end(), at.cells.begin(), at.cells.end());
  }
  const std::vector<std::string> moved = backends_of(only(all, differs));
  return backends_of(only(all, [&](const Contest* cell) {
    return std::find(moved.begin(), moved.end(), cell->cell->cell.backend) == moved.end();
  }));
}

struct Clause {
  Prose prose;
  bool long_one = false;  // with commas or a side clause
};

// At one number of heads: "1.4 × (`naive`) to 3.5 × (`onednn`) at 96, where `xsimd` is level".
Clause one_difference(const AtHeads& at, const std::string& where,
                      const std::vector<std::string>& steady) {
  const Cells faster = of_verdict(at.cells, Verdict::faster);
  const Cells slower = of_verdict(at.cells, Verdict::slower);
  const auto others = [&](Verdict verdict) {
    return backends_of(only(of_verdict(at.cells, verdict), [&](const Contest* cell) {
      return std::find(steady.begin(), steady.end(), cell->cell->cell.backend) == steady.end();
    }));
  };
  Clause clause{range_of(faster.empty() ? slower : faster)};
  clause.prose.push_back(plain(" at " + where));
  std::vector<Prose> sides;
  if (!faster.empty() && !slower.empty()) {
    sides.push_back(they_are(backends_of(slower), "slower"));
  }
  if (const auto names = others(Verdict::same); !names.empty()) {
    sides.push_back(they_are(names, "level"));
  }
  if (const auto names = others(Verdict::not_distinguishable); !names.empty()) {
    sides.push_back(unclear_clause(names));
  }
  for (std::size_t i = 0; i < sides.size(); ++i) {
    clause.prose.push_back(plain(i == 0 ? ", where " : i + 1 == sides.size() ? " and " : ", "));
    append(clause.prose, std::move(sides[i]));
  }
  clause.long_one = !sides.empty();
  return clause;
}

// At several: "up to 2.2 × (`autovec`) at 8 to 64".
Prose several_differences(const std::vector<AtHeads>& group, const std::string& where) {
  Cells cells;
  for (const AtHeads& at : group) {
    const Cells here = only(at.cells, differs);
    cells.insert(cells.end(), here.begin(), here.end());
  }
  const auto [least, most] = std::minmax_element(cells.begin(), cells.end(), by_speed_up);
  Prose prose;
  if (speed_up_of(*least) > 1) {
    prose = {plain("up to ")};
    append(prose, factor_of(*most));
  } else if (speed_up_of(*most) < 1) {
    prose = {plain("down to ")};
    append(prose, factor_of(*least));
  } else {
    prose = range_of(cells);
  }
  prose.push_back(plain(" at " + where));
  return prose;
}

Clause clause_of(const std::vector<AtHeads>& group, const std::string& where,
                 const std::vector<std::string>& steady) {
  switch (state_of(group.front())) {
    case State::level:
      return {{plain("level at " + where)}};
    case State::unclear:
      return {{plain("no difference can be shown at " + where)}};
    case State::differs:
      break;
  }
  if (group.size() == 1) return one_difference(group.front(), where, steady);
  return {several_differences(group, where)};
}

bool always_level(const SplitGains& series, const std::string& backend) {
  return std::all_of(series.by_heads.begin(), series.by_heads.end(), [&](const AtHeads& at) {
    return std::all_of(at.cells.begin(), at.cells.end(), [&](const Contest* cell) {
      return cell->cell->cell.backend != backend || verdict_of(cell) == Verdict::same;
    });
  });
}

// Whether the record says of each wrapper of the backend that it does what split does.
bool packs_together(const SplitGains& series, const std::string& backend) {
  return std::all_of(series.by_heads.begin(), series.by_heads.end(), [&](const AtHeads& at) {
    return std::all_of(at.cells.begin(), at.cells.end(), [&](const Contest* cell) {
      const record::CellResult& wrapper = *cell->over_wrapper->baseline;
      return cell->cell->cell.backend != backend ||
             (wrapper.costs && wrapper.costs->packs_heads_together);
    });
  });
}

// "level at 1 and 12 heads, 1.4 × (`naive`) to 3.5 × (`onednn`) at 96; `tbb` is level throughout."
Prose said_of(const SplitGains& series) {
  const std::vector<std::string> steady = steady_backends(series);
  std::vector<Clause> clauses;
  for (const std::vector<AtHeads>& group : groups_of(series)) {
    std::string where = numbers_of_heads(group);
    if (clauses.empty()) where += where == "1" ? " head" : " heads";
    clauses.push_back(clause_of(group, where, steady));
  }
  const bool any_long = std::any_of(clauses.begin(), clauses.end(),
                                    [](const Clause& clause) { return clause.long_one; });
  Prose prose;
  for (Clause& clause : clauses) {
    if (!prose.empty()) prose.push_back(plain(any_long ? "; " : ", "));
    append(prose, std::move(clause.prose));
  }
  const bool any_difference =
      std::any_of(series.by_heads.begin(), series.by_heads.end(),
                  [](const AtHeads& at) { return state_of(at) == State::differs; });
  if (any_difference && !steady.empty()) {
    for (const bool level : {true, false}) {
      for (const bool together : {false, true}) {
        std::vector<std::string> names;
        for (const std::string& name : steady) {
          if (always_level(series, name) != level || packs_together(series, name) != together) {
            continue;
          }
          names.push_back(name);
        }
        if (names.empty()) continue;
        prose.push_back(plain("; "));
        append(prose, level ? they_are(names, "level throughout") : unclear_clause(names));
        if (!together) continue;
        prose.push_back(plain(fmt::format(" ({} the matrices of all heads together)",
                                          names.size() == 1 ? "it packs" : "they pack")));
      }
    }
  }
  prose.push_back(plain("."));
  return prose;
}

std::size_t shapes_with_both(const Findings& findings) {
  return static_cast<std::size_t>(
      std::count_if(findings.shapes.begin(), findings.shapes.end(),
                    [](const ShapeFindings& shape) { return !split_cells(shape).empty(); }));
}

}  // namespace

Prose split_answer(const Findings& findings) {
  constexpr std::size_t kMost = 2;
  std::vector<SplitGains> all = split_gains(findings);
  if (all.empty()) return {};
  if (all.size() > kMost) all.resize(kMost);
  const bool alone = shapes_with_both(findings) == all.front().by_heads.size();
  Prose prose{plain("One wide matrix in place of one small matrix per head")};
  for (const SplitGains& series : all) {
    if (&series != &all.front()) {
      prose.push_back(plain(fmt::format(" With {}: ", name_of(series))));
    } else {
      prose.push_back(plain(alone ? ": " : fmt::format(" ({}): ", name_of(series))));
    }
    append(prose, said_of(series));
  }
  return prose;
}

namespace {

struct Gain {
  const Contest* cell = nullptr;
  const ShapeFindings* shape = nullptr;
};

Piece times_of(const Gain& gain) { return strong(times(speed_up_of(gain.cell))); }

std::string interval_of(const Gain& gain) {
  return fmt::format(" ({})", range(gain.cell->over_wrapper->speed_up_ci95()));
}

std::string with_shape(const Gain& gain) { return fmt::format("with {}", name_of(*gain.shape)); }

// "`naive` is 1.19 × (1.1 to 1.3) to 1.40 × (1.3 to 1.5) as fast in 2 of 6 shapes, from the one
// with 12 heads, ... to the one with 96 heads, ..."
Prose gains_clause(const std::string& backend, const std::vector<Gain>& gains, std::size_t shapes) {
  const auto [least, most] =
      std::minmax_element(gains.begin(), gains.end(),
                          [](const Gain& a, const Gain& b) { return by_speed_up(a.cell, b.cell); });
  Prose prose{code(backend), plain(" is "), times_of(*least)};
  if (gains.size() == 1) {
    prose.push_back(
        plain(" as fast" + interval_of(*least) + (shapes > 1 ? " " + with_shape(*least) : "")));
    return prose;
  }
  append(prose, {plain(interval_of(*least) + " to "), times_of(*most),
                 plain(fmt::format("{} as fast in {} of {} shapes, from the one {} to the one {}",
                                   interval_of(*most), gains.size(), shapes, with_shape(*least),
                                   with_shape(*most)))});
  return prose;
}

}  // namespace

Prose split_sentence(const Findings& findings) {
  Cells all;
  std::vector<Gain> gains;
  std::size_t shapes = 0;
  for (const ShapeFindings& shape : findings.shapes) {
    const Cells cells = split_cells(shape);
    shapes += cells.empty() ? 0 : 1;
    all.insert(all.end(), cells.begin(), cells.end());
    for (const Contest* cell : cells) gains.push_back({cell, &shape});
  }
  if (all.empty()) return {};
  Prose prose{plain("With one wide matrix ("), code("split"),
              plain(") instead of one small matrix per head ("), code("wrapper"), plain("), ")};
  if (shapes == 1 && findings.shapes.size() > 1) {
    prose.push_back(plain(fmt::format("{}, ", with_shape(gains.front()))));
  }
  bool first = true, elsewhere = false;
  std::vector<std::string> unclear;
  for (const std::string& backend : backends_of(all)) {
    const auto of = [&](Verdict verdict) {
      std::vector<Gain> found;
      std::copy_if(gains.begin(), gains.end(), std::back_inserter(found), [&](const Gain& gain) {
        return gain.cell->cell->cell.backend == backend && verdict_of(gain.cell) == verdict;
      });
      return found;
    };
    const bool any_unclear =
        !of(Verdict::same).empty() || !of(Verdict::not_distinguishable).empty();
    bool moved = false;
    for (const std::vector<Gain>& found : {of(Verdict::faster), of(Verdict::slower)}) {
      if (found.empty()) continue;
      if (!first) prose.push_back(plain("; "));
      append(prose, gains_clause(backend, found, shapes));
      first = false;
      moved = true;
    }
    if (!moved) unclear.push_back(backend);
    elsewhere = elsewhere || (moved && any_unclear);
  }
  if (!unclear.empty()) {
    if (!first) prose.push_back(plain("; "));
    append(prose, unclear_clause(unclear));
    if (shapes > 1) prose.push_back(plain(fmt::format(" in any of the {} shapes", shapes)));
  }
  prose.push_back(plain("."));
  if (elsewhere) {
    prose.push_back(plain(" In a backend's other shapes, no difference can be shown."));
  }
  return prose;
}

}  // namespace headroom::report
