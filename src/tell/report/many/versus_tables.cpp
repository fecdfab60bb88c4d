#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <utility>

#include "program/numbers.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Overview;
using judge::Difference;
using judge::Verdict;

Verdict turned(Verdict verdict) {
  if (verdict == Verdict::faster) return Verdict::slower;
  return verdict == Verdict::slower ? Verdict::faster : verdict;
}

// Base over next, with its verdict.
Difference turned(Difference difference) {
  difference.ratio = 1 / difference.ratio;
  difference.ci95 = {1 / difference.ci95.high, 1 / difference.ci95.low};
  difference.verdict = turned(difference.verdict);
  return difference;
}

}  // namespace

Table matrix_table(const Overview& overview, const across::Matrix& matrix) {
  Table table{{{"this machine's time over that of", false}}, {}};
  const std::vector<across::Standing>& standings = matrix.contest->standings;
  if (standings.size() < 3 || standings.size() > kMostColumns) return table;
  for (const across::Standing& standing : standings) {
    table.columns.push_back({machine_at(overview, standing.machine), false});
  }
  for (const across::Standing& of_row : standings) {
    std::vector<Prose> row{{strong(machine_at(overview, of_row.machine))}};
    for (const across::Standing& of_column : standings) {
      const across::Versus* versus =
          matrix.between(*overview.collection, of_column.machine, of_row.machine);
      if (versus == nullptr) {
        row.push_back(words_cell("-"));
        continue;
      }
      const bool straight = versus->next.entry == of_row.entry;
      const Difference shown = straight ? versus->difference : turned(versus->difference);
      Prose words{plain(fmt::format("{} ({}), ", times(shown.ratio), range(shown.ci95)))};
      append(words, verdict_of(shown.verdict));
      if (!versus->differs.empty()) words.push_back(plain(" †"));
      row.push_back(std::move(words));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table pair_table(const Overview& overview, const across::Matrix& matrix) {
  Table table{{{"cell", false},
               {"machine", false},
               {"time", true},
               {"beside", false},
               {"its time", true},
               {"ratio", true},
               {"95 % interval", true},
               {"verdict", false},
               {"programs differ in", false}},
              {}};
  const auto add = [&](const Prose& cell, const across::Versus& versus) {
    table.rows.push_back({cell,
                          {strong(entry_at(overview, versus.next.entry).label)},
                          time_of(*versus.next.cell),
                          words_cell(entry_at(overview, versus.base.entry).label),
                          time_of(*versus.base.cell),
                          words_cell(times(versus.difference.ratio)),
                          words_cell(range(versus.difference.ci95)),
                          verdict_of(versus.difference.verdict),
                          program_facts(versus)});
  };
  for (const across::Versus& versus : matrix.fastest) add({strong("the fastest of each")}, versus);
  for (const across::SameCell& cell : matrix.cells) {
    for (const across::Versus& versus : cell.pairs) add(short_cell(*versus.next.cell), versus);
  }
  return table;
}

Table version_table(const Overview& overview) {
  Table table{{{"machine", false},
               {"from", false},
               {"to", false},
               {"now faster", true},
               {"now slower", true},
               {"same", true},
               {"not distinguishable", true},
               {"mean of now / then", true}},
              {}};
  // Of one older folder and one newer one, in their order.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const across::Change*>> groups;
  for (const across::Change& change : overview.changes) {
    groups[{change.versus.base.entry, change.versus.next.entry}].push_back(&change);
  }
  for (const auto& [entries, changes] : groups) {
    std::map<Verdict, std::size_t> counts;
    double sum = 0;
    for (const across::Change* change : changes) {
      ++counts[change->versus.difference.verdict];
      sum += std::log(change->versus.difference.ratio);
    }
    const auto number = [&](Verdict verdict) {
      return words_cell(fmt::format("{}", counts[verdict]));
    };
    table.rows.push_back(
        {{strong(machine_at(overview, changes.front()->machine))},
         words_cell(overview.collection->entries[entries.first].version),
         words_cell(overview.collection->entries[entries.second].version),
         number(Verdict::faster),
         number(Verdict::slower),
         number(Verdict::same),
         number(Verdict::not_distinguishable),
         words_cell(fmt::format("{:.3f}", std::exp(sum / static_cast<double>(changes.size()))))});
  }
  return table;
}

Table change_table(const Overview& overview) {
  Table table{{{"machine", false},
               {"shape", false},
               {"cell", false},
               {"then", false},
               {"time then", true},
               {"time now", true},
               {"now / then", true},
               {"95 % interval", true},
               {"now", false},
               {"programs differ in", false}},
              {}};
  for (const across::Change& change : overview.changes) {
    const across::Versus& versus = change.versus;
    table.rows.push_back({{strong(machine_at(overview, change.machine))},
                          words_cell(name_of(*change.contest)),
                          short_cell(*versus.next.cell),
                          words_cell(entry_at(overview, versus.base.entry).version),
                          time_of(*versus.base.cell),
                          time_of(*versus.next.cell),
                          words_cell(fmt::format("{:.3f}", versus.difference.ratio)),
                          words_cell(range(versus.difference.ci95)),
                          verdict_of(versus.difference.verdict),
                          program_facts(versus)});
  }
  return table;
}

}  // namespace headroom::report
