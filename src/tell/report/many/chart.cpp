#include "report/many/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "report/many/chart_style.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

constexpr double kWidth = 720;
constexpr double kTop = 14;
constexpr double kRight = 24;
constexpr double kLegendRow = 18;
constexpr double kNearestTicks = 34;

// One axis in pixels.
struct Axis {
  double from = 0, to = 1;     // values
  double start = 0, stop = 1;  // pixels
  bool linear = false;
  std::vector<double> ticks = {};

  double at(double value) const {
    const auto scale = [&](double v) { return linear ? v : std::log(std::max(v, 1e-300)); };
    const double share = (scale(value) - scale(from)) / (scale(to) - scale(from));
    return start + std::clamp(share, 0.0, 1.0) * (stop - start);
  }
};

// 1, 2 and 5 times powers of ten that lie within.
std::vector<double> round_ticks(double from, double to) {
  std::vector<double> ticks;
  const auto first = static_cast<int>(std::floor(std::log10(from)));
  const auto last = static_cast<int>(std::ceil(std::log10(to)));
  for (int power = first; power <= last; ++power) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = std::pow(10, power) * step;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

struct Range {
  double low = std::numeric_limits<double>::max();
  double high = 0;
  void add(double value) {
    // Nothing that is measured is beyond these, and no axis reaches so far.
    if (!(value > 1e-30 && value < 1e30)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range range_of(const Chart& chart, bool of_x) {
  Range range;
  const bool is_value = of_x == !chart.rows.empty();
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) {
      range.add(of_x ? mark.x : mark.y);
      if (!is_value) continue;
      range.add(mark.ci95.low);
      range.add(mark.ci95.high);
    }
  }
  if (range.high <= 0) range.low = range.high = 1;
  return range;
}

Axis value_axis(const Chart& chart, double start, double stop) {
  const Range range = range_of(chart, !chart.rows.empty());
  if (chart.share) {
    Axis axis{0, std::max(1.0, range.high), start, stop, true};
    double step = 0.2;
    while (axis.to / step > 12) step *= 2;
    for (int i = 0; i * step <= axis.to + 1e-9; ++i) axis.ticks.push_back(i * step);
    return axis;
  }
  Axis axis{range.low / 1.15, range.high * 1.15, start, stop, false};
  if (!chart.rows.empty()) {  // a ratio, beside 1
    axis.from = std::min(axis.from, 1 / 1.15);
    axis.to = std::max(axis.to, 1.15);
  }
  axis.ticks = round_ticks(axis.from, axis.to);
  return axis;
}

// A tick for each value that was measured, where there is room.
Axis places_axis(const Chart& chart, double start, double stop) {
  const Range range = range_of(chart, true);
  Axis axis{range.low / 1.08, range.high * 1.08, start, stop, false};
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) values.push_back(mark.x);
  }
  std::sort(values.begin(), values.end());
  for (const double value : values) {
    if (axis.ticks.empty() || axis.at(value) - axis.at(axis.ticks.back()) >= kNearestTicks) {
      axis.ticks.push_back(value);
    }
  }
  return axis;
}

// Shapes tell series apart where colours do not.
std::string shape_of(std::size_t series, double x, double y) {
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
  return fmt::format("<path d=\"M{:.1f} {:.1f}{}\"/>", x, y, kPaths[series % kPaths.size()]);
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
  if (chart.share) return fmt::format("{:.0f} %", 100 * value);
  if (!chart.rows.empty()) return fmt::format("{:g} ×", value);
  constexpr std::array<const char*, 4> kUnits{"s", "ms", "µs", "ns"};
  std::size_t unit = 0;
  while (value < 0.9999 && unit + 1 < kUnits.size()) {
    value *= 1000;
    ++unit;
  }
  return fmt::format("{:g} {}", std::round(value * 100) / 100, kUnits[unit]);
}

// A mark with its figures: as a title for people, as data for programs.
std::string drawn(const Chart& chart, std::size_t series, const Mark& mark, double x, double y) {
  const std::string& name = chart.series[series].name;
  const bool rows = !chart.rows.empty();
  const std::string where = rows ? chart.rows[static_cast<std::size_t>(mark.y)]
                                 : fmt::format("{} {:g}", chart.x_head, mark.x);
  return fmt::format(
      "<g class=\"mark s{}\" data-series=\"{}\" data-cell=\"{}\" data-at=\"{}\" "
      "data-value=\"{}\"><title>{}, {}: {} ({})</title>{}</g>\n",
      series % kMostSeries, page::escape_html(name), page::escape_html(mark.cell),
      rows ? page::escape_html(where) : fmt::format("{:g}", mark.x), rows ? mark.x : mark.y,
      page::escape_html(name), page::escape_html(where), page::escape_html(mark.words),
      page::escape_html(mark.cell), shape_of(series, x, y));
}

std::string legend_svg(const Chart& chart, double top) {
  std::string drawn;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const double y = top + kLegendRow * static_cast<double>(i);
    drawn += fmt::format("<g class=\"s{}\">{}</g>\n", i % kMostSeries, shape_of(i, 24, y));
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

std::string lines_svg(const Chart& chart, bool alone) {
  constexpr double kLeft = 70, kBottom = 330, kBelow = 44;
  const Axis x = places_axis(chart, kLeft, kWidth - kRight);
  const Axis y = value_axis(chart, kBottom, kTop);
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
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string path, marks;
    for (const Mark& mark : chart.series[i].marks) {
      const double px = x.at(mark.x), py = y.at(mark.y);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
      if (mark.ci95.high > 0) {
        marks +=
            fmt::format("<g class=\"s{}\">{}</g>", i % kMostSeries,
                        svg_line(px, y.at(mark.ci95.low), px, y.at(mark.ci95.high), "whisker"));
      }
      marks += drawn(chart, i, mark, px, py);
    }
    inside += fmt::format("<path class=\"path s{}\" d=\"{}\"/>\n{}", i % kMostSeries, path, marks);
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
  const Axis x = value_axis(chart, left, kWidth - kRight);
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
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    for (const Mark& mark : chart.series[i].marks) {
      if (mark.ci95.high > 0) {
        inside += fmt::format(
            "<g class=\"s{}\">{}</g>", i % kMostSeries,
            svg_line(x.at(mark.ci95.low), y(mark.y), x.at(mark.ci95.high), y(mark.y), "whisker"));
      }
      inside += drawn(chart, i, mark, x.at(mark.x), y(mark.y));
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
