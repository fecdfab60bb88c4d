#include "report/many/pictures/many_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "program/numbers.hpp"
#include "report/many/pictures/line_pictures.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Overview;

constexpr std::size_t kMostRows = 40;

// The row of a name, which is made if it is new; nothing where there is no more room.
std::optional<double> row_of(Chart& chart, const std::string& name) {
  const auto found = std::find(chart.rows.begin(), chart.rows.end(), name);
  if (found != chart.rows.end()) return static_cast<double>(found - chart.rows.begin());
  if (chart.rows.size() == kMostRows) return std::nullopt;
  chart.rows.push_back(name);
  return static_cast<double>(chart.rows.size() - 1);
}

Series* series_of(Chart& chart, const std::string& name) {
  for (Series& series : chart.series) {
    if (series.name == name) return &series;
  }
  if (chart.series.size() == kMostSeries) return nullptr;
  return &chart.series.emplace_back(Series{name, {}, chart.series.size()});
}

// A long name without its middle: its end tells it apart from others. Letters of more than a byte
// stay whole.
std::string shortened(const std::string& name) {
  constexpr std::size_t kMost = 34, kStart = 15, kEnd = 16;
  const bool plain_letters =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (name.size() <= kMost || !plain_letters) return name;
  return name.substr(0, kStart) + "..." + name.substr(name.size() - kEnd);
}

std::string where(const std::string& machine, const Case& shape) {
  return fmt::format("{}, {}, {}", shortened(machine), counted(shape.heads, "head"),
                     counted(shape.tokens, "token"));
}

void add_mark(Chart& chart, const std::string& row, const std::string& series, Mark mark) {
  const std::optional<double> place = row_of(chart, row);
  Series* own = place ? series_of(chart, series) : nullptr;
  if (own == nullptr) return;
  mark.y = *place;
  own->marks.push_back(std::move(mark));
}

void add_precisions(std::vector<Chart>& charts, const Overview& overview) {
  Chart chart{.name = "precisions",
              .title = "Time with less than f32, over f32",
              .note =
                  "The fastest verified cell of each precision, with its 95 % interval; left "
                  "of 1 is faster",
              .x_head = "time over f32",
              .unit = ChartUnit::ratio};
  for (const across::PrecisionRow& row : overview.precisions) {
    const across::Entry& entry = overview.collection->entries[row.entry];
    for (const across::NumbersPoint& point : row.points) {
      if (&point == &row.points.front()) continue;
      add_mark(chart, where(entry.label, point.cell->shape),
               headroom::to_string(point.cell->cell.numbers),
               {point.to_f32.ratio, 0, point.to_f32.ci95, point.cell->cell.id,
                fmt::format("{} ({})", times(point.to_f32.ratio), range(point.to_f32.ci95))});
    }
  }
  if (!chart.empty()) charts.push_back(std::move(chart));
}

void add_cold(std::vector<Chart>& charts, const Overview& overview) {
  Chart chart{.name = "caches",
              .title = "Time with cold caches, over warm ones",
              .note = "The cell that is the fastest with warm caches, with its 95 % interval",
              .x_head = "cold over warm",
              .unit = ChartUnit::ratio};
  for (const across::ColdRow& row : overview.cold) {
    const record::CellResult& cell = *row.versus.next.cell;
    const judge::Difference& found = row.versus.difference;
    const std::string& name = machine_at(overview, row.machine);
    add_mark(chart, where(name, cell.shape), name,
             {found.ratio, 0, found.ci95, cell.cell.id,
              fmt::format("{} ({})", times(found.ratio), range(found.ci95))});
  }
  if (!chart.empty()) charts.push_back(std::move(chart));
}

}  // namespace

std::vector<Chart> many_charts(const Overview& overview) {
  std::vector<Chart> charts;
  add_sizes(charts, overview);
  add_threads(charts, overview);
  add_precisions(charts, overview);
  add_cold(charts, overview);
  for (Chart& chart : charts) {
    if (chart.rows.size() == kMostRows) chart.note += fmt::format(". At most {} rows", kMostRows);
  }
  return charts;
}

}  // namespace headroom::report
