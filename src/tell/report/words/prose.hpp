// Sentences that are written once and rendered as HTML and as Markdown. Names in them come from
// files, so every piece is escaped when it is rendered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page/template.hpp"

namespace headroom::report {

struct Piece {
  enum class Kind { plain, strong, code };
  Kind kind = Kind::plain;
  std::string text;
};

/// A sentence or a paragraph; pieces are joined without spaces.
using Prose = std::vector<Piece>;

Piece plain(std::string text);
Piece strong(std::string text);
Piece code(std::string text);

/// Rows of prose under column heads.
struct Table {
  struct Column {
    std::string head;
    bool number = false;  ///< right-aligned
  };
  std::vector<Column> columns;
  std::vector<std::vector<Prose>> rows;
};

std::string plain_text(const Prose& prose);

/// For a terminal: ASCII for what we write, in lines of at most 100 characters.
std::string terminal_lines(const Prose& prose);

using page::escape_html;
std::string html(const Prose& prose);
std::string html(const Table& table, std::string_view caption);

/// For a table cell or running text; a line break becomes a space.
std::string escape_markdown(std::string_view text);
std::string markdown(const Prose& prose);
std::string markdown(const Table& table);

}  // namespace headroom::report
