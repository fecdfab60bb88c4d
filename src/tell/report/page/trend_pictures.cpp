#include "report/page/trend_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "page/template.hpp"
#include "program/numbers.hpp"
#include "report/words/wording.hpp"
#include "show/versions/gap_groups.hpp"

namespace headroom::report {
namespace {

using trend::MachineTrend;
using trend::Point;
using trend::Series;
using trend::Step;

// Where a version and a time lie in a picture; times on a logarithmic axis.
struct Scale {
  double left = 0, width = 0, top = 0, height = 0;
  double least = 0, most = 0;  // logarithms
  std::size_t versions = 1;

  double x(double version) const {
    const double last = versions < 2 ? 1 : static_cast<double>(versions - 1);
    return left + width * version / last;
  }
  double y(double log_seconds) const {
    return top + height * (most - log_seconds) / (most - least);
  }
};

// At least the margin to both sides, so that noise does not fill the picture.
Scale scale_of(const MachineTrend& machine, const Series& series, double margin) {
  Scale scale;
  scale.versions = machine.versions.size();
  const auto [low, high] =
      std::minmax_element(series.points.begin(), series.points.end(),
                          [](const Point& a, const Point& b) { return a.seconds < b.seconds; });
  const double more = std::max(0.01, std::log(1 + margin));
  scale.least = std::log(low->seconds) - more;
  scale.most = std::log(high->seconds) + more;
  return scale;
}

// A line at the level between two steps.
std::string level_line(const Series& series, const Scale& scale, std::size_t begin,
                       std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += std::log(series.points[i].seconds);
  const double y = scale.y(sum / static_cast<double>(end - begin));
  return fmt::format(
      "<line class=\"mean\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
      scale.x(static_cast<double>(series.points[begin].version)),
      scale.x(static_cast<double>(series.points[end - 1].version)), y, y);
}

std::string levels_of(const Series& series, const Scale& scale) {
  std::string lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= series.points.size(); ++i) {
    const bool ends = i == series.points.size() ||
                      std::any_of(series.steps.begin(), series.steps.end(), [&](const Step& step) {
                        return step.after == series.points[i].version;
                      });
    if (!ends || i == begin) continue;
    lines += level_line(series, scale, begin, i);
    begin = i;
  }
  return lines;
}

std::string upright(const Step& step, const Scale& scale) {
  const double x =
      scale.x(0.5 * (static_cast<double>(step.before) + static_cast<double>(step.after)));
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>",
                     step.slower() ? "slower" : "faster", x, x, scale.top,
                     scale.top + scale.height);
}

std::string step_line(const MachineTrend& machine, const Step& step, bool maybe) {
  std::string text =
      fmt::format("<br>{}{} {} ({}) since <code>{}</code>", maybe ? "maybe " : "",
                  step.slower() ? "slower" : "faster", times(step.ratio), range(step.ci95),
                  page::escape_html(machine.versions[step.after].name));
  for (const std::string& change : step.changes) {
    text += "<br>also changed: " + page::escape_html(change);
  }
  return text;
}

}  // namespace

std::string trend_figure(const MachineTrend& machine, const Series& series, double margin) {
  if (series.points.empty()) return "";
  Scale scale = scale_of(machine, series, margin);
  scale.left = 52, scale.width = 256, scale.top = 6, scale.height = 74;
  std::string text = fmt::format("<figure>\n<figcaption><code>{}</code><br>{}",
                                 page::escape_html(series.id), page::escape_html(machine.machine));
  for (auto step = series.steps.rbegin(); step != series.steps.rend(); ++step) {
    text += step_line(machine, *step, false);
  }
  if (series.maybe) text += step_line(machine, *series.maybe, true);
  text += fmt::format(
      "</figcaption>\n<svg class=\"trend\" viewBox=\"0 0 320 96\" role=\"img\" aria-label=\"time "
      "over {}\">\n<text class=\"end\" x=\"46\" y=\"12\">{}</text><text class=\"end\" x=\"46\" "
      "y=\"80\">{}</text>\n<text x=\"52\" y=\"92\">{}</text>"
      "<text class=\"end\" x=\"308\" y=\"92\">{}</text>\n",
      counted(machine.versions.size(), "version"), format_seconds(std::exp(scale.most)),
      format_seconds(std::exp(scale.least)),
      page::escape_html(machine.versions.front().name.substr(0, 18)),
      page::escape_html(machine.versions.back().name.substr(0, 18)));
  for (const Step& step : series.steps) text += upright(step, scale);
  text += levels_of(series, scale);
  for (const Point& point : series.points) {
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>{}: {}</title></circle>",
        scale.x(static_cast<double>(point.version)), scale.y(std::log(point.seconds)),
        page::escape_html(machine.versions[point.version].name), format_seconds(point.seconds));
  }
  for (const trend::Gap& gap : series.gaps) {
    if (!gap.is_broken()) continue;
    text +=
        fmt::format("<text class=\"gap\" x=\"{:.1f}\" y=\"{:.1f}\"><title>{}: {}</title>×</text>",
                    scale.x(static_cast<double>(gap.version)), scale.top + scale.height,
                    page::escape_html(machine.versions[gap.version].name), show::gap_word(gap));
  }
  return text + "\n</svg>\n</figure>\n";
}

std::string trend_spark(const MachineTrend& machine, const Series& series, double margin) {
  if (series.points.empty()) return "";
  Scale scale = scale_of(machine, series, margin);
  scale.width = 100, scale.height = 20;
  std::string path;
  for (const Point& point : series.points) {
    path +=
        fmt::format("{}{:.0f} {:.0f}", path.empty() ? "M" : "L",
                    scale.x(static_cast<double>(point.version)), scale.y(std::log(point.seconds)));
  }
  return fmt::format(
      "<li><code>{}</code> {}<svg viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><path d=\"{}\"/></svg></li>\n",
      page::escape_html(series.id), format_seconds(series.points.back().seconds), path);
}

}  // namespace headroom::report
