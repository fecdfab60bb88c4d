#include "report/page/trend_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "page/embedded.hpp"
#include "page/template.hpp"
#include "program/numbers.hpp"
#include "report/page/assets.hpp"
#include "report/page/trend_pictures.hpp"
#include "report/words/prose.hpp"
#include "show/versions/gap_groups.hpp"
#include "show/versions/trend_table.hpp"

HEADROOM_ASSET(trend_page_file, HEADROOM_ASSET_FOLDER "/trend.html")

namespace headroom::report {
namespace {

using trend::MachineTrend;
using trend::Series;
using trend::State;
using trend::Trend;

// What may be written of each kind, in bytes; all of it and the rest of the page stay below 4 MiB.
constexpr std::size_t kMostOfSteps = std::size_t{384} << 10;
constexpr std::size_t kMostOfFigures = std::size_t{1536} << 10;
constexpr std::size_t kMostOfSparks = std::size_t{1600} << 10;

constexpr std::size_t kMostOfGaps = std::size_t{192} << 10;

// Text that ends before it is too long, and how many pieces were left out.
class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}

  bool add(const std::string& piece) {
    if (left_out_ > 0 || text_.size() + piece.size() > most_) {
      ++left_out_;
      return false;
    }
    text_ += piece;
    return true;
  }
  const std::string& text() const { return text_; }
  std::size_t left_out() const { return left_out_; }

 private:
  std::string text_;
  std::size_t most_;
  std::size_t left_out_ = 0;
};

std::string left_out_note(std::size_t count, std::string_view noun) {
  if (count == 0) return "";
  return fmt::format(
      "<p class=\"note\">There is no room for {} more; <code>--json</code> has all.</p>\n",
      counted(count, noun));
}

std::string steps_table(const Trend& trend) {
  Table table{{{"machine", false},
               {"before", false},
               {"after", false},
               {"cells", true},
               {"after / before", true},
               {"change", false}},
              {}};
  const std::vector<show::StepGroup> groups = show::step_groups(trend);
  std::size_t size = 0, left_out = 0;
  for (const show::StepGroup& group : groups) {
    if (size > kMostOfSteps) {
      ++left_out;
      continue;
    }
    const std::string words = show::step_words(group);
    table.rows.push_back({{code(group.machine->machine)},
                          {code(group.version_before().name)},
                          {code(group.version_after().name)},
                          {plain(std::to_string(group.cells.size()))},
                          {plain(fmt::format("{:.3f}", group.median_ratio()))},
                          {group.maybe ? plain(words) : strong(words)}});
    size += html(Table{table.columns, {table.rows.back()}}, "").size();
  }
  if (table.rows.empty()) return "<p>No step was found.</p>\n";
  return html(table, "Steps, newest first") + left_out_note(left_out, "step");
}

struct Shown {
  const MachineTrend* machine = nullptr;
  const Series* series = nullptr;
};

// Those that changed, in the order of the table; one with several steps is in several groups.
std::vector<Shown> changed_cells(const Trend& trend) {
  std::vector<Shown> cells;
  std::set<const Series*> seen;
  for (const show::StepGroup& group : show::step_groups(trend)) {
    for (const show::StepGroup::Cell& cell : group.cells) {
      if (seen.insert(cell.series).second) cells.push_back({group.machine, cell.series});
    }
  }
  return cells;
}

std::string figures(const Trend& trend) {
  Budget budget(kMostOfFigures);
  for (const Shown& cell : changed_cells(trend)) {
    budget.add(trend_figure(*cell.machine, *cell.series, trend.margin_of(*cell.machine)));
  }
  if (budget.text().empty()) return "<p>Nothing.</p>\n";
  return "<div class=\"multiples\">\n" + budget.text() + "</div>\n" +
         left_out_note(budget.left_out(), "cell");
}

// Each with its reason where it is broken.
Prose cells_of(const show::GapGroup& group) {
  constexpr std::size_t kMost = 24;
  Prose words;
  std::size_t count = 0;
  for (const Series* series : group.cells) {
    if (count++ == kMost) {
      words.push_back(plain(fmt::format("; and {} more", group.cells.size() - kMost)));
      break;
    }
    if (!words.empty()) words.push_back(plain("; "));
    words.push_back(code(series->id));
    const std::string reason = show::broken_reason(*series);
    if (!reason.empty()) words.push_back(plain(": " + reason));
    words.push_back(plain(show::gate_remark(*series)));
  }
  return words;
}

std::string gaps_table(const Trend& trend) {
  Table table{{{"machine", false}, {"cells", true}, {"what", false}, {"which", false}}, {}};
  std::size_t size = 0, left_out = 0;
  for (const show::GapGroup& group : show::gap_groups(trend)) {
    std::vector<Prose> row{
        {code(group.machine->machine)},
        {plain(std::to_string(group.cells.size()))},
        {group.kind == show::GapKind::broke ? strong(group.words) : plain(group.words)},
        cells_of(group)};
    size += html(Table{table.columns, {row}}, "").size();
    if (size > kMostOfGaps) {
      ++left_out;
    } else {
      table.rows.push_back(std::move(row));
    }
  }
  if (table.rows.empty() && left_out == 0) return "<p>Nothing.</p>\n";
  return html(table, "Broken or missing cells") + left_out_note(left_out, "group");
}

std::string level_cells(const Trend& trend) {
  std::string text;
  std::size_t left_out = 0;
  for (const MachineTrend& machine : trend.machines) {
    // Each machine has its share of the room.
    Budget budget(kMostOfSparks / trend.machines.size());
    std::size_t count = 0;
    for (const Series& series : machine.series) {
      if (series.state() != State::level && series.state() != State::too_few) continue;
      ++count;
      budget.add(trend_spark(machine, series, trend.margin_of(machine)));
    }
    left_out += budget.left_out();
    if (count == 0) continue;
    text += fmt::format(
        "<details><summary>{}: {}</summary>\n<ul class=\"sparks\">\n{}</ul>\n</details>\n",
        page::escape_html(machine.machine), counted(count, "cell"), budget.text());
  }
  return text.empty() ? "<p>Nothing.</p>\n" : text + left_out_note(left_out, "cell");
}

std::string subtitle_of(const Trend& trend) {
  std::size_t versions = 0;
  for (const MachineTrend& machine : trend.machines) {
    versions = std::max(versions, machine.versions.size());
  }
  return fmt::format("{}, up to {}", counted(trend.machines.size(), "machine"),
                     counted(versions, "version"));
}

std::string method_of(const Trend& trend) {
  std::string text;
  for (const MachineTrend& machine : trend.machines) text += show::machine_line(machine) + "\n";
  return page::escape_html(text + "\n" + show::trend_method(trend));
}

}  // namespace

std::string trend_page(const Trend& trend) {
  const std::string headline = page::escape_html(show::trend_headline(trend));
  return page::filled(trend_page_file_text(), {"report", headline, std::string(assets().style)},
                      {{"headline", headline},
                       {"subtitle", subtitle_of(trend)},
                       {"steps", steps_table(trend)},
                       {"changed", figures(trend)},
                       {"broken", gaps_table(trend)},
                       {"level", level_cells(trend)},
                       {"method", method_of(trend)}});
}

}  // namespace headroom::report
