#include "report/words/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/shown.hpp"

namespace headroom::report {
namespace {

// A code span ends at as many backticks as it began with, so its fence is longer than any run
// inside.
std::string markdown_code(std::string_view text) {
  // As code it would be harmless, but not to whoever looks for tags before rendering.
  if (text.find_first_of("<>&") != std::string_view::npos) {
    return "<code>" + escape_markdown(text) + "</code>";
  }
  std::size_t longest = 0;
  std::size_t run = 0;
  std::string inside;
  for (const char c : shown_text(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') inside += '\\';  // a table would end its cell here, even within code
    inside += c;
  }
  const std::string fence(longest + 1, '`');
  const char* space = longest > 0 ? " " : "";
  return fence + space + inside + space + fence;
}

const char* tag_of(Piece::Kind kind) { return kind == Piece::Kind::strong ? "strong" : "code"; }

}  // namespace

Piece plain(std::string text) { return {Piece::Kind::plain, std::move(text)}; }
Piece strong(std::string text) { return {Piece::Kind::strong, std::move(text)}; }
Piece code(std::string text) { return {Piece::Kind::code, std::move(text)}; }

std::string plain_text(const Prose& prose) {
  std::string text;
  for (const Piece& piece : prose) text += piece.text;
  return text;
}

std::string terminal_lines(const Prose& prose) {
  constexpr std::size_t kLine = 100;
  std::string text = plain_text(prose);
  constexpr std::string_view kTimes = "×";
  for (std::size_t at = 0; (at = text.find(kTimes, at)) != std::string::npos;) {
    text.replace(at, kTimes.size(), "x");
  }
  std::string lines;
  while (text.size() > kLine) {
    std::size_t end = text.rfind(' ', kLine);
    if (end == std::string::npos) end = std::min(text.find(' '), text.size());
    lines += text.substr(0, end) + "\n";
    text.erase(0, end + 1);
  }
  return text.empty() ? lines : lines + text + "\n";
}

std::string html(const Prose& prose) {
  std::string text;
  for (const Piece& piece : prose) {
    const std::string escaped = escape_html(piece.text);
    if (piece.kind == Piece::Kind::plain) {
      text += escaped;
    } else {
      text += fmt::format("<{0}>{1}</{0}>", tag_of(piece.kind), escaped);
    }
  }
  return text;
}

namespace {

// Where the columns have no room side by side, the page shows each row as a list, and each cell
// with its head.
const char* layout_of(const Table& table) {
  if (table.columns.size() > 7) return " class=\"wide\"";
  return table.columns.size() > 3 ? " class=\"middling\"" : "";
}

}  // namespace

std::string html(const Table& table, std::string_view caption) {
  // Focusable, so that a keyboard can scroll a long one.
  std::string text = fmt::format(
      "<div class=\"table-box\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table{1}>\n"
      "<caption>{0}</caption>\n<thead><tr>",
      escape_html(caption), layout_of(table));
  for (const Table::Column& column : table.columns) {
    text += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"number\"" : "",
                        escape_html(column.head));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Prose>& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("<td{} data-head=\"{}\">{}</td>",
                          table.columns[i].number ? " class=\"number\"" : "",
                          escape_html(table.columns[i].head), html(row[i]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

std::string escape_markdown(std::string_view text) {
  std::string escaped;
  for (const char c : shown_text(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|#~!").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown(const Prose& prose) {
  std::string text;
  for (const Piece& piece : prose) {
    switch (piece.kind) {
      case Piece::Kind::plain:
        text += escape_markdown(piece.text);
        break;
      case Piece::Kind::strong:
        text += "**" + escape_markdown(piece.text) + "**";
        break;
      case Piece::Kind::code:
        text += markdown_code(piece.text);
        break;
    }
  }
  return text;
}

std::string markdown(const Table& table) {
  std::string text = "|";
  for (const Table::Column& column : table.columns) {
    text += fmt::format(" {} |", escape_markdown(column.head));
  }
  text += "\n|";
  for (const Table::Column& column : table.columns) text += column.number ? "--:|" : "---|";
  text += "\n";
  for (const std::vector<Prose>& row : table.rows) {
    text += "|";
    for (const Prose& cell : row) text += fmt::format(" {} |", markdown(cell));
    text += "\n";
  }
  return text;
}

}  // namespace headroom::report
