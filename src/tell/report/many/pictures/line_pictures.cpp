#include "report/many/pictures/line_pictures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
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

// In what the shapes of a picture differ.
struct Varied {
  const char* name;  // of its files
  const char* head;
  const char* title;  // after "Time by"
  std::int64_t (*size_of)(const Case&);
  std::optional<Case> (*family_of)(const Case&);  // without that size; nothing if it has none
  std::string (*words)(const Case&);
};

// A layer whose widths grow with its heads.
std::optional<Case> without_heads(const Case& shape) {
  const bool square = shape.d_in == shape.d_out && shape.d_proj == shape.d_out &&
                      shape.key_heads() == shape.heads && !shape.is_latent();
  if (!square || shape.heads < 1) return {};
  Case family = shape;
  const std::int64_t width = shape.head_dim();
  family.heads = 1;
  family.kv_heads = 0;
  family.d_in = family.d_out = family.d_proj = width;
  return family;
}

std::optional<Case> without_tokens(const Case& shape) {
  if (shape.past > 0 || !shape.lengths.empty() || shape.tokens < 1) return {};
  Case family = shape;
  family.tokens = 1;
  return family;
}

std::optional<Case> without_past(const Case& shape) {
  if (shape.past < 1 || !shape.lengths.empty()) return {};
  Case family = shape;
  family.past = 1;
  return family;
}

std::string with_heads(const Case& shape) {
  return fmt::format("{}, width {}", counted(shape.heads, "head"),
                     std::max(shape.d_out, shape.d_in));
}

constexpr Varied kVaried[] = {
    {"heads", "heads", "number of heads", [](const Case& shape) { return shape.heads; },
     without_heads,
     [](const Case& shape) {
       std::string words =
           fmt::format("Heads of {}, {}", shape.head_dim(), counted(shape.tokens, "token"));
       return shape.past > 0 ? words + fmt::format(" after {}", shape.past) : words;
     }},
    {"tokens", "tokens", "number of tokens", [](const Case& shape) { return shape.tokens; },
     without_tokens, with_heads},
    {"past", "tokens that came before", "tokens in the cache",
     [](const Case& shape) { return shape.past; }, without_past,
     [](const Case& shape) {
       return fmt::format("Steps of {}; {}", counted(shape.tokens, "token"), with_heads(shape));
     }}};

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
std::vector<Family> families_of(const Overview& overview, const Varied& varied) {
  std::map<std::string, Family> all;
  for (const Contest& contest : overview.contests) {
    if (contest.cold || contest.numbers != Numbers{}) continue;
    const std::optional<Case> shape = varied.family_of(contest.shape);
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

// A machine looks alike in all pictures, unless there are more than looks.
void add_line(Chart& chart, const Overview& overview, std::size_t machine, Series series) {
  if (series.marks.empty()) return;
  const bool enough = overview.collection->machines.size() <= kMostSeries;
  series.look = enough ? machine : chart.series.size();
  std::stable_sort(series.marks.begin(), series.marks.end(),
                   [](const Mark& a, const Mark& b) { return a.x < b.x; });
  if (chart.series.size() < kMostSeries) {
    chart.series.push_back(std::move(series));
  } else if (chart.note.find(". The first") == std::string::npos) {
    chart.note += fmt::format(". The first {} machines", kMostSeries);
  }
}

// A line for each machine, as far as there are looks for them.
template <class Figure>
void add_lines(Chart& chart, const Overview& overview, const Varied& varied, const Family& family,
               Figure figure) {
  for (std::size_t machine = 0; machine < overview.collection->machines.size(); ++machine) {
    Series series{machine_at(overview, machine), {}};
    for (const Contest* contest : family.contests) {
      const across::Standing* standing = contest->on(machine);
      if (standing == nullptr) continue;
      const record::CellResult& cell = *standing->fastest().cell;
      Mark mark{static_cast<double>(varied.size_of(cell.shape)), 0, {}, cell.cell.id, ""};
      if (figure(overview.collection->entries[standing->entry], cell, mark)) {
        series.marks.push_back(std::move(mark));
      }
    }
    add_line(chart, overview, machine, std::move(series));
  }
}

bool time_figure(const across::Entry&, const record::CellResult& cell, Mark& mark) {
  mark.y = cell.time.median;
  mark.ci95 = cell.time.ci95;
  mark.words = format_seconds(cell.time.median);
  return true;
}

void add_family(std::vector<Chart>& charts, const Overview& overview, const Varied& varied,
                const Family& family) {
  // Shapes that differ in their tokens are of both demands.
  const bool few = demand_of(family.shape) == Demand::decode && varied.family_of != without_tokens;
  const std::string file = varied.name + std::string(few ? "-few-tokens" : "");
  const std::string of = few ? ", few tokens" : "";
  const std::string words =
      varied.words(family.shape) + "; the fastest verified cell of each machine";
  Chart time{.name = "time-by-" + file,
             .title = fmt::format("Time by {}{}", varied.title, of),
             .note = words,
             .x_head = varied.head,
             .y_head = "time"};
  add_lines(time, overview, varied, family, time_figure);
  Chart share{.name = "share-by-" + file,
              .title = fmt::format("Share of the machine's own roof, by {}{}", varied.title, of),
              .note = words +
                      "; of multiply-adds beside the samples, or of memory where that is "
                      "the lower roof",
              .x_head = varied.head,
              .y_head = "share of the roof",
              .unit = ChartUnit::share};
  show::Shares above;
  add_lines(share, overview, varied, family,
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

using Rows = std::vector<const across::ThreadRow*>;

// The shape that most machines have on several threads; of several that with most to draw, and of
// those the largest, whose threads have most to do.
Rows widest_shape(const Overview& overview, Demand demand) {
  std::map<const Contest*, Rows> all;
  for (const across::ThreadRow& row : overview.threads) {
    if (row.contest->numbers != Numbers{} || demand_of(row.contest->shape) != demand) continue;
    all[row.contest].push_back(&row);
  }
  const auto worth = [](const Rows& rows) {
    std::size_t points = 0;
    for (const across::ThreadRow* row : rows) points += row->more.size();
    return std::tuple(rows.size(), points, rows.front()->contest->shape.flops().total());
  };
  const auto found = std::max_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return worth(a.second) < worth(b.second);
  });
  return found == all.end() ? Rows{} : found->second;
}

// Who is not in the picture, and why: machines with one number of threads, and others without this
// shape.
std::string who_is_missing(const Overview& overview, const Rows& drawn) {
  std::vector<std::string> single, others;
  for (std::size_t machine = 0; machine < overview.collection->machines.size(); ++machine) {
    const auto is_of = [machine](const across::ThreadRow& row) { return row.machine == machine; };
    if (std::any_of(drawn.begin(), drawn.end(),
                    [&](const across::ThreadRow* row) { return is_of(*row); })) {
      continue;
    }
    const bool any = std::any_of(overview.threads.begin(), overview.threads.end(), is_of);
    (any ? others : single).push_back(machine_at(overview, machine));
  }
  std::string words;
  const auto add = [&words](const char* why, const std::vector<std::string>& names) {
    if (!names.empty()) words += fmt::format(". {}: {}", why, fmt::join(names, ", "));
  };
  add("Not drawn, because no cell was measured on one thread and on more", single);
  add("Not drawn, because only other shapes were", others);
  return words;
}

}  // namespace

void add_sizes(std::vector<Chart>& charts, const Overview& overview) {
  for (const Varied& varied : kVaried) {
    for (const Family& family : families_of(overview, varied)) {
      add_family(charts, overview, varied, family);
    }
  }
}

void add_threads(std::vector<Chart>& charts, const Overview& overview) {
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    const Rows rows = widest_shape(overview, demand);
    if (rows.empty()) continue;
    const bool few = demand == Demand::decode;
    Chart chart{
        .name = few ? "threads-few-tokens" : "threads",
        .title = few ? "Speed-up with more threads, few tokens" : "Speed-up with more threads",
        .note = name_of(*rows.front()->contest) +
                "; the fastest verified cell of each machine that was measured on one thread as "
                "well: how much faster it is than there, with its 95 % interval. Marks of one "
                "number of threads stand side by side",
        .x_head = "threads",
        .y_head = "speed-up over one thread",
        .unit = ChartUnit::ratio,
        .ideal = true};
    for (const across::ThreadRow* row : rows) {
      Series series{machine_at(overview, row->machine), {}};
      const across::Entry& entry = entry_at(overview, row->entry);
      for (const across::ThreadPoint& point : row->more) {
        series.marks.push_back(
            {static_cast<double>(point.cell->threads), point.speedup(), point.speedup_ci95(),
             point.cell->cell.id,
             fmt::format("{} ({}), threads: {}", times(point.speedup()),
                         range(point.speedup_ci95()), threads_words(*point.cell, entry.roofs))});
      }
      add_line(chart, overview, row->machine, std::move(series));
    }
    chart.note += who_is_missing(overview, rows);
    charts.push_back(std::move(chart));
  }
}

}  // namespace headroom::report
