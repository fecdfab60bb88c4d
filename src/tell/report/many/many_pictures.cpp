#include "report/many/many_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/call/demand.hpp"
#include "program/numbers.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Contest;
using across::Overview;

constexpr std::size_t kMostRows = 40;

// Shapes that differ in nothing but the number of heads; nothing for those that are no such layer.
std::optional<Case> family_of(const Contest& contest) {
  Case family = contest.shape;
  const bool square = family.d_in == family.d_out && family.d_proj == family.d_out &&
                      family.key_heads() == family.heads && !family.is_latent();
  if (contest.cold || contest.numbers != Numbers{} || !square || family.heads < 1) return {};
  const std::int64_t width = family.head_dim();
  family.heads = 1;
  family.kv_heads = 0;
  family.d_in = family.d_out = family.d_proj = width;
  return family;
}

using Contests = std::vector<const Contest*>;

struct Family {
  Case shape;
  Contests contests;
};

std::size_t points_of(const Family& family) {
  std::size_t points = 0;
  for (const Contest* contest : family.contests) points += contest->standings.size();
  return points;
}

// Of each demand the one with most to draw.
std::vector<Family> families_of(const Overview& overview) {
  std::map<std::string, Family> all;
  for (const Contest& contest : overview.contests) {
    const std::optional<Case> shape = family_of(contest);
    if (!shape) continue;
    Family& family = all[shape->id()];
    family.shape = *shape;
    family.contests.push_back(&contest);
  }
  std::vector<Family> chosen;
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    const Family* most = nullptr;
    for (const auto& [id, family] : all) {
      if (demand_of(family.shape) != demand || family.contests.size() < 2) continue;
      if (most == nullptr || points_of(family) > points_of(*most)) most = &family;
    }
    if (most != nullptr) chosen.push_back(*most);
  }
  return chosen;
}

std::string family_words(const Family& family) {
  std::string words = fmt::format("Heads of {}, {}", family.shape.head_dim(),
                                  counted(family.shape.tokens, "token"));
  if (family.shape.past > 0) words += fmt::format(" after {}", family.shape.past);
  return words + "; the fastest verified cell of each machine";
}

// A line for each machine, as far as there are looks for them.
template <class Figure>
void add_lines(Chart& chart, const Overview& overview, const Family& family, Figure figure) {
  for (std::size_t machine = 0; machine < overview.collection->machines.size(); ++machine) {
    Series series{machine_at(overview, machine), {}};
    for (const Contest* contest : family.contests) {
      const across::Standing* standing = contest->on(machine);
      if (standing == nullptr) continue;
      const record::CellResult& cell = *standing->fastest().cell;
      Mark mark{static_cast<double>(cell.shape.heads), 0, {}, cell.cell.id, ""};
      if (figure(overview.collection->entries[standing->entry], cell, mark)) {
        series.marks.push_back(std::move(mark));
      }
    }
    if (series.marks.empty()) continue;
    if (chart.series.size() == kMostSeries) {
      chart.note += fmt::format(". The first {} machines", kMostSeries);
      return;
    }
    chart.series.push_back(std::move(series));
  }
}

bool time_figure(const across::Entry&, const record::CellResult& cell, Mark& mark) {
  mark.y = cell.time.median;
  mark.ci95 = cell.time.ci95;
  mark.words = format_seconds(cell.time.median);
  return true;
}

void add_scaling(std::vector<Chart>& charts, const Overview& overview) {
  for (const Family& family : families_of(overview)) {
    const bool few = demand_of(family.shape) == Demand::decode;
    const std::string after = few ? "-few-tokens" : "";
    Chart time{"time-by-heads" + after,
               few ? "Time by number of heads, few tokens" : "Time by number of heads",
               family_words(family),
               "heads",
               "time",
               false,
               {},
               {}};
    add_lines(time, overview, family, time_figure);
    Chart share{
        "share-by-heads" + after,
        few ? "Share of the machine's own roof, few tokens" : "Share of the machine's own roof",
        family_words(family) +
            "; of multiply-adds beside the samples, or of memory where that is the lower roof",
        "heads",
        "share of the roof",
        true,
        {},
        {}};
    show::Shares above;
    add_lines(share, overview, family,
              [&above](const across::Entry& entry, const record::CellResult& cell, Mark& mark) {
                const std::optional<Share> found = share_of_limit(entry.folder, cell, entry.roofs);
                if (!found) return false;
                mark.y = found->value;
                mark.words = limit_words(*found, above);
                return true;
              });
    for (const std::string& reason : above.reasons()) share.note += "; " + reason;
    for (Chart* chart : {&time, &share}) {
      if (!chart->empty()) charts.push_back(std::move(*chart));
    }
  }
}

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
  return &chart.series.emplace_back(Series{name, {}});
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
  Chart chart{"precisions",
              "Time with less than f32, over f32",
              "The fastest verified cell of each precision, with its 95 % interval; left of 1 is "
              "faster",
              "time over f32",
              "",
              false,
              {},
              {}};
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
  Chart chart{"caches",
              "Time with cold caches, over warm ones",
              "The cell that is the fastest with warm caches, with its 95 % interval",
              "cold over warm",
              "",
              false,
              {},
              {}};
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
  add_scaling(charts, overview);
  add_precisions(charts, overview);
  add_cold(charts, overview);
  for (Chart& chart : charts) {
    if (chart.rows.size() == kMostRows) chart.note += fmt::format(". At most {} rows", kMostRows);
  }
  return charts;
}

}  // namespace headroom::report
