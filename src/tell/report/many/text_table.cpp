#include "report/many/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/text/shown.hpp"

namespace headroom::report {
namespace {

// Letters, not bytes: a multiplication sign has two.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string text_table(const Table& table) {
  if (table.rows.empty()) return "";
  std::vector<std::vector<std::string>> lines(1);
  for (const Table::Column& column : table.columns) lines[0].push_back(shown_text(column.head));
  for (const std::vector<Prose>& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Prose& cell : row) line.push_back(shown_text(plain_text(cell)));
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string shown;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - width_of(line[i]), ' ');
      if (i > 0) shown += "  ";
      shown += table.columns[i].number ? blanks + line[i] : line[i] + blanks;
    }
    text += shown.substr(0, shown.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace headroom::report
