#include "report/many/cell_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "judge/competes.hpp"
#include "page/template.hpp"
#include "program/numbers.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Joined;
using across::Overview;

// The cell without its shape, which stands above.
std::string_view short_id(const record::CellResult& cell) {
  const std::string_view id = cell.cell.id;
  const std::size_t end = id.rfind('/');
  return end == std::string_view::npos ? id : id.substr(0, end);
}

// What tells whoever compares the row with those beside it.
std::string remark_of(const Joined& joined, const record::CellResult& cell) {
  if (!judge::verified(cell)) return "not ranked: " + judge::why_not_verified(cell);
  std::vector<std::string> parts;
  if (cell.peer) parts.emplace_back("another library, not ranked");
  if (cell.cache == plan::CacheState::cold) parts.emplace_back("cold caches");
  if (!joined.differs.empty()) {
    parts.push_back(fmt::format("† {}", fmt::join(joined.differs, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Closing tags of cells and rows may be left out, and are.
void add_row(std::string& html, const Overview& overview, const Joined& joined,
             const across::Place& place) {
  const across::Entry& entry = overview.collection->entries[place.entry];
  const record::CellResult& cell = *place.cell;
  std::string time = "-", interval = "-", share = "-";
  if (judge::verified(cell)) {
    time = format_seconds(cell.time.median);
    interval = fmt::format("{} to {}", format_seconds(cell.time.ci95.low),
                           format_seconds(cell.time.ci95.high));
    show::Shares above;
    if (const auto found = share_of_limit(entry.folder, cell, entry.roofs)) {
      share = limit_words(*found, above);
    }
  }
  html +=
      fmt::format("<tr><td><code>{}</code><td>{}<td>{}<td>{}<td>{}<td>{}\n",
                  page::escape_html(short_id(cell)), page::escape_html(entry.label), time, interval,
                  page::escape_html(share), page::escape_html(remark_of(joined, cell)));
}

constexpr std::string_view kHead =
    "<thead><tr><th scope=\"col\">cell<th scope=\"col\">folder<th scope=\"col\">time<th "
    "scope=\"col\">95 % interval<th scope=\"col\">share of its own roof<th "
    "scope=\"col\">remark</thead>\n<tbody>\n";

}  // namespace

std::string cell_list(const Overview& overview) {
  std::string html;
  for (std::size_t i = 0; i < overview.cells.size();) {
    const Case& shape = overview.cells[i].places.front().cell->shape;
    const std::string id = shape.id();
    std::string rows;
    std::size_t count = 0;
    for (; i < overview.cells.size(); ++i) {
      const Joined& joined = overview.cells[i];
      if (joined.places.front().cell->shape.id() != id) break;
      for (const across::Place& place : joined.places) add_row(rows, overview, joined, place);
      count += joined.places.size();
    }
    const std::string name =
        page::escape_html(fmt::format("{}, {}", counted(shape.heads, "head"), name_of(shape)));
    html += fmt::format(
        "<details><summary>{0}: {1}</summary>\n<div class=\"table-box\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"{0}\">\n<table class=\"wide cells\">\n{2}{3}</table>\n</div>"
        "\n</details>\n",
        name, counted(count, "cell"), kHead, rows);
  }
  return html;
}

}  // namespace headroom::report
