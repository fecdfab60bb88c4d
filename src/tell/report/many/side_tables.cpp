#include <fmt/format.h>

#include "program/numbers.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {

using across::Overview;
using judge::Verdict;

Table thread_table(const Overview& overview) {
  Table table{{{"shape", false},
               {"machine", false},
               {"cell", false},
               {"time on 1 thread", true},
               {"threads", true},
               {"time", true},
               {"speed-up", true},
               {"95 % interval", true},
               {"of the ideal", true},
               {"verdict", false}},
              {}};
  for (const across::ThreadRow& row : overview.threads) {
    const across::Entry& entry = entry_at(overview, row.entry);
    for (const across::ThreadPoint& point : row.more) {
      table.rows.push_back({words_cell(name_of(*row.contest)),
                            {strong(entry.label)},
                            {code(name_of(*row.one))},
                            time_of(*row.one),
                            words_cell(threads_words(*point.cell, entry.roofs)),
                            time_of(*point.cell),
                            words_cell(times(point.speedup())),
                            words_cell(range(point.speedup_ci95())),
                            words_cell(format_share(point.speedup() / point.cell->threads, 0)),
                            verdict_of(point.to_one.verdict)});
    }
  }
  return table;
}

Table numbers_table(const Overview& overview) {
  Table table{{{"machine", false},
               {"shape", false},
               {"numbers", false},
               {"fastest cell", false},
               {"time", true},
               {"time over f32", true},
               {"95 % interval", true},
               {"verdict", false},
               {"error", true}},
              {}};
  for (const across::PrecisionRow& row : overview.precisions) {
    for (const across::NumbersPoint& point : row.points) {
      const record::CellResult& cell = *point.cell;
      const bool is_base = &point == &row.points.front();
      table.rows.push_back({{strong(overview.collection->entries[row.entry].label)},
                            words_cell(fmt::format("{}, {}", counted(cell.shape.heads, "head"),
                                                   name_of(cell.shape))),
                            {code(headroom::to_string(cell.cell.numbers))},
                            short_cell(cell),
                            time_of(cell),
                            words_cell(is_base ? "1" : times(point.to_f32.ratio)),
                            words_cell(is_base ? "-" : range(point.to_f32.ci95)),
                            is_base ? words_cell("-") : verdict_of(point.to_f32.verdict),
                            words_cell(fmt::format("{:.1e}", cell.error->nrmse))});
    }
  }
  return table;
}

Table cold_table(const Overview& overview) {
  Table table{{{"machine", false},
               {"shape", false},
               {"cell", false},
               {"warm", true},
               {"cold", true},
               {"cold / warm", true},
               {"95 % interval", true},
               {"programs differ in", false}},
              {}};
  for (const across::ColdRow& row : overview.cold) {
    const record::CellResult& cell = *row.versus.next.cell;
    table.rows.push_back(
        {{strong(machine_at(overview, row.machine))},
         words_cell(fmt::format("{}, {}", counted(cell.shape.heads, "head"), name_of(cell.shape))),
         short_cell(cell),
         time_of(*row.versus.base.cell),
         time_of(cell),
         words_cell(times(row.versus.difference.ratio)),
         words_cell(range(row.versus.difference.ci95)),
         program_facts(row.versus)});
  }
  return table;
}

namespace {

std::string worth(const across::ValueRow& row, const across::ValuePoint& point) {
  if (&point != &row.points.front()) {
    switch (point.to_best.verdict) {
      case Verdict::slower:
        return "less for the money";
      case Verdict::same:
        return "as much";
      default:
        return "not distinguishable";
    }
  }
  for (const across::ValuePoint& other : row.points) {
    if (&other != &point && other.to_best.verdict != Verdict::slower) {
      return "no other is shown to give more";
    }
  }
  return "the most for the money";
}

}  // namespace

Table value_table(const Overview& overview) {
  Table table{{{"shape", false},
               {"machine", false},
               {"fastest cell", false},
               {"price of an hour", true},
               {"passes for 1", true},
               {"money for a pass, over the cheapest", true},
               {"95 % interval", true},
               {"verdict", false}},
              {}};
  for (const across::ValueRow& row : overview.value) {
    for (const across::ValuePoint& point : row.points) {
      const bool is_best = &point == &row.points.front();
      table.rows.push_back(
          {words_cell(name_of(*row.contest)),
           {strong(machine_at(overview, point.machine))},
           short_cell(*point.place.cell),
           words_cell(fmt::format("{:g}", *overview.collection->machines[point.machine].price)),
           words_cell(fmt::format("{:.4g}", point.passes)),
           words_cell(is_best ? "1" : times(point.to_best.ratio)),
           words_cell(is_best ? "-" : range(point.to_best.ci95)),
           words_cell(worth(row, point))});
    }
  }
  return table;
}

}  // namespace headroom::report
