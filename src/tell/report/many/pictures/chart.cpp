#include "report/many/pictures/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/many/pictures/chart_axis.hpp"
#include "report/many/pictures/chart_style.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

constexpr double kWidth = 720;
constexpr double kTop = 14;
constexpr double kRight = 24;
constexpr double kLegendRow = 18;

// Shapes tell series apart where colours do not.
std::string shape_of(std::size_t look, double x, double y) {
  constexpr std::array<const char*, kMostSeries> kPaths{
      "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
      "m-4 -4h8v8h-8z",
      "m0 -5.5l5 9h-10z",
      "m0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
      "m0 5.5l5 -9h-10z",
      "m-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
      "m5.5 0l-9 5v-10z",
      "m-5.5 0l9 5v-10z",
      "m-5.5 -2.5h11v5h-11z",
      "m-2.5 -5.5h5v11h-5z"};
  return fmt::format("<path d=\"M{:.1f} {:.1f}{}\"/>", x, y, kPaths[look]);
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* kind) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
      y1, x2, y2);
}

std::string svg_text(double x, double y, const char* kind, std::string_view words) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kind, x, y,
                     page::escape_html(words));
}

std::string tick_words(const Chart& chart, double value) {
  if (chart.unit == ChartUnit::share) return fmt::format("{:.0f} %", 100 * value);
  if (chart.unit == ChartUnit::ratio) return fmt::format("{:g} ×", value);
  constexpr std::array<const char*, 4> kUnits{"s", "ms", "µs", "ns"};
  std::size_t unit = 0;
  while (value < 0.9999 && unit + 1 < kUnits.size()) {
    value *= 1000;
    ++unit;
  }
  return fmt::format("{:g} {}", std::round(value * 100) / 100, kUnits[unit]);
}

// A mark with its figures: as a title for people, as data for programs.
std::string drawn(const Chart& chart, const Series& series, const Mark& mark, double x, double y) {
  const std::string& name = series.name;
  const bool rows = !chart.rows.empty();
  const std::string where = rows ? chart.rows[static_cast<std::size_t>(mark.y)]
                                 : fmt::format("{} {:g}", chart.x_head, mark.x);
  return fmt::format(
      "<g class=\"mark s{}\" data-series=\"{}\" data-cell=\"{}\" data-at=\"{}\" "
      "data-value=\"{}\"><title>{}, {}: {} ({})</title>{}</g>\n",
      series.look, page::escape_html(name), page::escape_html(mark.cell),
      rows ? page::escape_html(where) : fmt::format("{:g}", mark.x), rows ? mark.x : mark.y,
      page::escape_html(name), page::escape_html(where), page::escape_html(mark.words),
      page::escape_html(mark.cell), shape_of(series.look, x, y));
}

std::string legend_svg(const Chart& chart, double top) {
  std::string drawn;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const double y = top + kLegendRow * static_cast<double>(i);
    const std::size_t look = chart.series[i].look;
    drawn += fmt::format("<g class=\"s{}\">{}</g>\n", look, shape_of(look, 24, y));
    drawn += svg_text(38, y + 4, "name", chart.series[i].name);
  }
  return drawn;
}

std::string framed(const Chart& chart, double height, const std::string& inside, bool alone) {
  return fmt::format(
      "<svg class=\"many\" {}viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}{}"
      "</svg>\n",
      alone ? fmt::format("xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" ", kWidth) : "",
      kWidth, height, page::escape_html(chart.title),
      alone ? fmt::format("<style>{}</style>\n<rect class=\"ground\" width=\"100%\" "
                          "height=\"100%\"/>\n",
                          chart_style())
            : "",
      inside);
}

// To the end of both axes.
std::string ideal_svg(const ChartAxis& x, const ChartAxis& y) {
  const double end = std::min(x.to, y.to);
  return svg_line(x.at(1), y.at(1), x.at(end), y.at(end), "ideal") +
         svg_text(x.at(end) - 22, y.at(end) + 2, "end", "ideal");
}

std::string lines_svg(const Chart& chart, bool alone) {
  constexpr double kLeft = 70, kBottom = 330, kBelow = 44;
  const ChartAxis x = places_axis(chart, kLeft, kWidth - kRight);
  const ChartAxis y = value_axis(chart, kBottom, kTop);
  std::string inside;
  for (const double tick : y.ticks) {
    inside += svg_line(kLeft, y.at(tick), kWidth - kRight, y.at(tick), "grid");
    inside += svg_text(kLeft - 8, y.at(tick) + 4, "end", tick_words(chart, tick));
  }
  for (const double tick : x.ticks) {
    inside += svg_line(x.at(tick), kTop, x.at(tick), kBottom, "grid");
    inside += svg_text(x.at(tick), kBottom + 18, "middle", fmt::format("{:g}", tick));
  }
  inside += svg_text((kLeft + kWidth - kRight) / 2, kBottom + 36, "middle", chart.x_head);
  if (chart.ideal) inside += ideal_svg(x, y);
  const double shift = apart(chart, x);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    std::string path, marks;
    if (chart.ideal) path = fmt::format("M{:.1f} {:.1f}", x.at(1), y.at(1));
    const double from_middle =
        static_cast<double>(i) - 0.5 * static_cast<double>(chart.series.size() - 1);
    for (const Mark& mark : series.marks) {
      const double px = x.at(mark.x) + shift * from_middle, py = y.at(mark.y);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
      if (mark.ci95.high > 0) {
        marks +=
            fmt::format("<g class=\"s{}\">{}</g>", series.look,
                        svg_line(px, y.at(mark.ci95.low), px, y.at(mark.ci95.high), "whisker"));
      }
      marks += drawn(chart, series, mark, px, py);
    }
    inside += fmt::format("<path class=\"path s{}\" d=\"{}\"/>\n{}", series.look, path, marks);
  }
  const double below = kBottom + kBelow + 14;
  inside += legend_svg(chart, below);
  return framed(chart, below + kLegendRow * static_cast<double>(chart.series.size()), inside,
                alone);
}

// For the longest name, as far as there is room beside the picture.
double room_for(const std::vector<std::string>& rows) {
  constexpr double kLetter = 7, kMost = 450;
  std::size_t longest = 0;
  for (const std::string& row : rows) longest = std::max(longest, row.size());
  return std::min(kMost, 30 + kLetter * static_cast<double>(longest));
}

std::string rows_svg(const Chart& chart, bool alone) {
  constexpr double kRow = 20;
  const double left = room_for(chart.rows);
  const double bottom = kTop + kRow * static_cast<double>(chart.rows.size());
  const ChartAxis x = value_axis(chart, left, kWidth - kRight);
  std::string inside;
  double last = -kNearestTicks;
  for (const double tick : x.ticks) {
    if (x.at(tick) - last < kNearestTicks) continue;
    last = x.at(tick);
    inside += svg_line(last, kTop, last, bottom, tick == 1 ? "one" : "grid");
    inside += svg_text(last, bottom + 18, "middle", tick_words(chart, tick));
  }
  inside += svg_text((left + kWidth - kRight) / 2, bottom + 36, "middle", chart.x_head);
  const auto y = [&](double row) { return kTop + kRow * (row + 0.5); };
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    inside += svg_text(left - 12, y(static_cast<double>(i)) + 4, "end", chart.rows[i]);
  }
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) {
      if (mark.ci95.high > 0) {
        inside += fmt::format(
            "<g class=\"s{}\">{}</g>", series.look,
            svg_line(x.at(mark.ci95.low), y(mark.y), x.at(mark.ci95.high), y(mark.y), "whisker"));
      }
      inside += drawn(chart, series, mark, x.at(mark.x), y(mark.y));
    }
  }
  const double below = bottom + 58;
  inside += legend_svg(chart, below);
  return framed(chart, below + kLegendRow * static_cast<double>(chart.series.size()), inside,
                alone);
}

}  // namespace

std::string svg(const Chart& chart, bool alone) {
  return chart.rows.empty() ? lines_svg(chart, alone) : rows_svg(chart, alone);
}

Table table_of(const Chart& chart) {
  const bool rows = !chart.rows.empty();
  Table table{{{rows ? "what" : "machine", false},
               {rows ? "where" : chart.x_head, !rows},
               {rows ? chart.x_head : chart.y_head, true},
               {"cell", false}},
              {}};
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) {
      table.rows.push_back({{plain(series.name)},
                            {plain(rows ? chart.rows[static_cast<std::size_t>(mark.y)]
                                        : fmt::format("{:g}", mark.x))},
                            {plain(mark.words)},
                            {code(mark.cell)}});
    }
  }
  return table;
}

}  // namespace headroom::report
