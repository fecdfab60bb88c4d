#include "lesson/lesson_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lesson/examples.hpp"

namespace headroom::lesson {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::int64_t kMostRows = 12;
constexpr std::int64_t kMostCols = 8;
constexpr std::int64_t kMostTables = 8;  // of one value, such as heads
constexpr std::int64_t kEdge = 3;        // entries shown at each end of a longer axis

std::string wrapped(std::string_view text, std::string_view indent) {
  std::string result, line(indent);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() > indent.size() && line.size() + word.size() + 1 > kLineWidth) {
      result += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + line + "\n";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{:.4f}", value);
  const bool vanished = value != 0 && text.find_first_of("123456789") == std::string::npos;
  return vanished ? fmt::format("{:.1e}", value) : text;
}

// -1 stands for what is left out.
std::vector<std::int64_t> shown_indices(std::int64_t size, std::int64_t most) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool at_edge = i < kEdge || i >= size - kEdge;
    if (size <= most || at_edge) {
      indices.push_back(i);
    } else if (indices.back() >= 0) {
      indices.push_back(-1);
    }
  }
  return indices;
}

std::string label_of(const Axis& axis, std::int64_t index) {
  if (index < 0) return "...";
  if (!axis.labels.empty()) return axis.labels[static_cast<std::size_t>(index)];
  return axis.name == "H" ? fmt::format("head {}", index + 1) : "";
}

// Columns that are aligned; the first on the left, the others on the right.
std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                         std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == 0) {
        line += fmt::format("{:<{}}", row[c], widths[c]);
      } else {
        line += fmt::format("{}{:>{}}", c == 1 && widths[0] == 0 ? "" : "  ", row[c], widths[c]);
      }
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// The last two axes, or the last one as a single row.
std::string table_text(const Value& value, std::int64_t offset, std::string_view indent) {
  const std::size_t rank = value.axes.size();
  const Axis row_axis = rank > 1 ? value.axes[rank - 2] : Axis{"", 1};
  const Axis col_axis = rank > 0 ? value.axes[rank - 1] : Axis{"", 1};
  std::vector<std::vector<std::string>> rows;
  if (rank == 1 && !col_axis.labels.empty()) {
    std::vector<std::string>& head = rows.emplace_back(1, "");
    for (const std::int64_t c : shown_indices(col_axis.size, kMostCols)) {
      head.push_back(label_of(col_axis, c));
    }
  }
  for (const std::int64_t r : shown_indices(row_axis.size, kMostRows)) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(label_of(row_axis, r));
    for (const std::int64_t c : shown_indices(col_axis.size, kMostCols)) {
      const auto at = static_cast<std::size_t>(offset + r * col_axis.size + c);
      row.push_back(r < 0 || c < 0 ? "..." : number_text(value.data[at]));
    }
  }
  return columns_text(rows, indent);
}

// Such as `B 1, head 2`.
std::string place_text(const Value& value, std::int64_t table) {
  std::string text;
  for (std::size_t axis = value.axes.size() - 2; axis-- > 0;) {
    const std::int64_t index = table % value.axes[axis].size;
    table /= value.axes[axis].size;
    const std::string& name = value.axes[axis].name;
    const std::string part = name == "H"   ? fmt::format("head {}", index + 1)
                             : name == "B" ? fmt::format("sequence {}", index + 1)
                                           : label_of(value.axes[axis], index);
    text.insert(0, text.empty() ? part : part + ", ");
  }
  return text;
}

std::string value_text(const Value& value) {
  std::string text = fmt::format("  {}", value.name);
  if (!value.axes.empty()) {
    text += fmt::format("  {} = {}", names_text(value.axes), shape_text(value.axes));
  }
  text += "\n";
  if (value.axes.size() <= 2) return text + table_text(value, 0, "    ");
  const std::size_t rank = value.axes.size();
  const std::int64_t size = value.axes[rank - 2].size * value.axes[rank - 1].size;
  const std::int64_t tables = size == 0 ? 0 : static_cast<std::int64_t>(value.data.size()) / size;
  for (const std::int64_t table : shown_indices(tables, kMostTables)) {
    if (table < 0) {
      text += "    ...\n";
      continue;
    }
    text += fmt::format("    {}\n", place_text(value, table));
    text += table_text(value, table * size, "      ");
  }
  return text;
}

std::string string_table_text(const Table& table) {
  std::vector<std::vector<std::string>> rows{table.columns};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  return fmt::format("  {}\n{}", table.caption, columns_text(rows, "    "));
}

// The result once more, one token a line, as `--input` reads it: one blank between numbers.
std::string plain_rows(const Lesson& lesson) {
  if (lesson.steps.empty() || lesson.steps.back().values.empty()) return "";
  const Value& result = lesson.steps.back().values.front();
  if (result.axes.size() < 2) return "";
  const auto width = result.axes.back().size;
  const auto rows = static_cast<std::int64_t>(result.data.size()) / width;
  const auto tokens = static_cast<std::int64_t>(lesson.words.size());
  if (width > kMostCols || rows > kMostRows * 2) return "";
  std::string text =
      fmt::format("The rows of {} once more, as a table that --input reads\n\n", result.name);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (r > 0 && r % tokens == 0) text += "\n";
    std::string word = lesson.words[static_cast<std::size_t>(r % tokens)];
    std::replace(word.begin(), word.end(), ' ', '_');
    text += word;
    for (std::int64_t c = 0; c < width; ++c) {
      text += ' ';  // apart, because GCC 12 warns of memory in operator+ that is not there
      text += number_text(result.data[static_cast<std::size_t>(r * width + c)]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_text(const Lesson& lesson) {
  std::string text =
      fmt::format("{}: {}\n{}\n", lesson.name, lesson.title, wrapped(lesson.about, ""));
  for (std::size_t i = 0; i < lesson.steps.size(); ++i) {
    const Step& step = lesson.steps[i];
    text += fmt::format("{}. {}\n{}\n", i + 1, step.title, wrapped(step.text, "   "));
    for (const Value& value : step.values) text += value_text(value) + "\n";
    if (step.table) text += string_table_text(*step.table) + "\n";
  }
  return text + plain_rows(lesson);
}

std::string examples_text() {
  std::string text;
  std::size_t width = 0;
  for (const Example& example : examples()) width = std::max(width, example.name.size());
  for (const Example& example : examples()) {
    text += fmt::format("{:<{}}  {}\n", example.name, width, example.line);
  }
  return text;
}

}  // namespace headroom::lesson
