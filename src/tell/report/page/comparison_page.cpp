#include "report/page/comparison_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "page/embedded.hpp"
#include "page/template.hpp"
#include "program/numbers.hpp"
#include "report/page/assets.hpp"
#include "report/words/prose.hpp"
#include "report/words/wording.hpp"
#include "show/comparison_table.hpp"

HEADROOM_ASSET(compare_page, HEADROOM_ASSET_FOLDER "/compare.html")

namespace headroom::report {
namespace {

using judge::ComparedCell;
using judge::FolderComparison;
using judge::Verdict;

bool matters(const ComparedCell& cell) {
  return cell.difference && (cell.difference->verdict == Verdict::faster ||
                             cell.difference->verdict == Verdict::slower);
}

Prose verdict_of(const ComparedCell& cell) {
  if (!cell.difference) {
    return {plain(cell.next == nullptr   ? "only before"
                  : cell.base == nullptr ? "only after"
                                         : "no time")};
  }
  const std::string words(to_string(cell.difference->verdict));
  return {matters(cell) ? strong(words) : plain(words)};
}

template <class Wanted>
Table table_of(const FolderComparison& comparison, Wanted wanted) {
  Table table{{{"cell", false},
               {"before", true},
               {"after", true},
               {"after / before", true},
               {"95 % interval", true},
               {"verdict", false}},
              {}};
  for (const ComparedCell& cell : comparison.cells) {
    if (!wanted(cell)) continue;
    Prose ratio{plain("-")}, interval{plain("-")};
    if (cell.difference) {
      ratio = {plain(fmt::format("{:.3f}", cell.difference->ratio))};
      interval = {plain(range(cell.difference->ci95))};
    }
    table.rows.push_back({{code(cell.id())},
                          {plain(show::time_or_status(cell.base))},
                          {plain(show::time_or_status(cell.next))},
                          ratio,
                          interval,
                          verdict_of(cell)});
  }
  return table;
}

// A row for each cell, on one logarithmic axis. Colours are those of the page's style, and shapes
// tell what they tell.
std::string picture(const FolderComparison& comparison, double margin) {
  constexpr double kRow = 18, kTop = 24, kLeft = 360, kWidth = 640;
  std::vector<const ComparedCell*> cells;
  double most = std::log(1.1);
  for (const ComparedCell& cell : comparison.cells) {
    if (!cell.difference) continue;
    cells.push_back(&cell);
    for (const double end : {cell.difference->ci95.low, cell.difference->ci95.high}) {
      if (end > 0 && std::isfinite(end)) most = std::max(most, std::abs(std::log(end)));
    }
  }
  if (cells.empty()) return "";
  const auto x = [&](double ratio) {
    const double at = std::clamp(std::log(std::max(ratio, 1e-300)) / most, -1.0, 1.0);
    return kLeft + (at + 1) / 2 * kWidth;
  };
  const double height = kTop + kRow * static_cast<double>(cells.size()) + 6;
  std::string svg = fmt::format(
      "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" aria-label=\"picture\">\n<svg "
      "class=\"forest\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"time after "
      "over time before, for {2}\">\n"
      "<rect class=\"band\" x=\"{3:.1f}\" y=\"{4:.0f}\" width=\"{5:.1f}\" height=\"{6:.1f}\"/>\n"
      "<line class=\"one\" x1=\"{7:.1f}\" x2=\"{7:.1f}\" y1=\"{4:.0f}\" y2=\"{1:.0f}\"/>\n",
      kLeft + kWidth + 20, height, counted(cells.size(), "cell"), x(1 / (1 + margin)), kTop - 6,
      x(1 + margin) - x(1 / (1 + margin)), height - kTop + 6, x(1));
  for (const double tick : {std::exp(-most), 1.0, std::exp(most)}) {
    svg +=
        fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"12\">{:.2f} ×</text>\n", x(tick), tick);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ComparedCell& cell = *cells[i];
    const judge::Difference& difference = *cell.difference;
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    const bool faster = difference.verdict == Verdict::faster;
    const char* kind = !matters(cell) ? "even" : faster ? "faster" : "slower";
    svg += fmt::format(
        "<g class=\"{}\"><title>{}: {:.3f} ({})</title>"
        "<text class=\"name\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>"
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
        kind, page::escape_html(cell.id()), difference.ratio, range(difference.ci95), kLeft - 12,
        y + 4, page::escape_html(cell.id()), x(difference.ci95.low), x(difference.ci95.high), y, y);
    const double at = x(difference.ratio);
    if (matters(cell)) {
      const double tip = faster ? -6 : 6;  // it points where the time went
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} -5v10z\"/>", at + tip, y, -2 * tip);
    } else {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", at, y);
    }
    svg += "</g>\n";
  }
  return svg + "</svg>\n</div>\n";
}

std::string headline_of(const FolderComparison& comparison) {
  const std::size_t faster = comparison.count(Verdict::faster);
  const std::size_t slower = comparison.count(Verdict::slower);
  if (faster + slower == 0)
    return fmt::format("Of {} none is faster or slower.", counted(comparison.compared(), "cell"));
  return fmt::format("Of {}, {} {} faster and {} {} slower.",
                     counted(comparison.compared(), "cell"), faster, faster == 1 ? "is" : "are",
                     slower, slower == 1 ? "is" : "are");
}

}  // namespace

std::string comparison_page(const FolderComparison& comparison) {
  const double margin = std::max(comparison.threshold, comparison.noise_floor);
  const Table changed = table_of(comparison, matters);
  std::string remarks;
  for (const std::string& warning : comparison.warnings)
    remarks += fmt::format("<li>{}</li>\n", page::escape_html(warning));
  if (!remarks.empty()) remarks = "<ul class=\"remarks\">\n" + remarks + "</ul>\n";
  const std::string headline = headline_of(comparison);
  return page::filled(
      compare_page_text(), {"report", page::escape_html(headline), std::string(assets().style)},
      {{"headline", page::escape_html(headline)},
       {"subtitle", page::escape_html(show::source_of(*comparison.base) + " → " +
                                      show::source_of(*comparison.next))},
       {"changed", changed.rows.empty() ? "" : html(changed, "What changed")},
       {"remarks", remarks},
       {"margin", fmt::format("{:.3g} %", 100 * margin)},
       {"picture", picture(comparison, margin)},
       {"cells",
        html(table_of(comparison, [](const ComparedCell&) { return true; }), "Every cell")},
       {"method", page::escape_html(show::comparison_summary(comparison))}});
}

}  // namespace headroom::report
