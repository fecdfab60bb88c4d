#include "report/many/pictures/chart_axis.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace headroom::report {
namespace {

// These times powers of ten that lie within.
std::vector<double> ticks_of(std::initializer_list<double> steps, double from, double to) {
  std::vector<double> ticks;
  const auto first = static_cast<int>(std::floor(std::log10(from)));
  const auto last = static_cast<int>(std::ceil(std::log10(to)));
  for (int power = first; power <= last; ++power) {
    for (const double step : steps) {
      const double tick = std::pow(10, power) * step;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> round_ticks(double from, double to) {
  std::vector<double> ticks = ticks_of({1, 2, 5}, from, to);
  if (ticks.size() > 2) return ticks;
  return ticks_of({1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8}, from, to);
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

// Of the values with their intervals, and of the ideal ones.
Range value_range(const Chart& chart) {
  Range range;
  if (chart.ideal) range.add(1);
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) {
      range.add(chart.rows.empty() ? mark.y : mark.x);
      range.add(mark.ci95.low);
      range.add(mark.ci95.high);
      if (chart.ideal) range.add(mark.x);
    }
  }
  if (range.high <= 0) range.low = range.high = 1;
  return range;
}

// Those at which there is a mark, each once.
std::vector<double> places_of(const Chart& chart) {
  std::vector<double> values;
  if (chart.ideal) values.push_back(1);
  for (const Series& series : chart.series) {
    for (const Mark& mark : series.marks) values.push_back(mark.x);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

double ChartAxis::at(double value) const {
  const auto scale = [&](double v) { return linear ? v : std::log(std::max(v, 1e-300)); };
  const double share = (scale(value) - scale(from)) / (scale(to) - scale(from));
  return start + std::clamp(share, 0.0, 1.0) * (stop - start);
}

ChartAxis value_axis(const Chart& chart, double start, double stop) {
  const Range range = value_range(chart);
  if (chart.unit == ChartUnit::share) {
    ChartAxis axis{0, std::max(1.0, range.high), start, stop, true};
    double step = 0.2;
    while (axis.to / step > 12) step *= 2;
    for (int i = 0; i * step <= axis.to + 1e-9; ++i) axis.ticks.push_back(i * step);
    return axis;
  }
  ChartAxis axis{range.low / 1.15, range.high * 1.15, start, stop, false};
  if (chart.unit == ChartUnit::ratio) {  // beside 1
    axis.from = std::min(axis.from, 1 / 1.15);
    axis.to = std::max(axis.to, 1.15);
  }
  axis.ticks = round_ticks(axis.from, axis.to);
  return axis;
}

ChartAxis places_axis(const Chart& chart, double start, double stop) {
  const std::vector<double> places = places_of(chart);
  const double low = places.empty() ? 1 : places.front(), high = places.empty() ? 1 : places.back();
  ChartAxis axis{low / 1.08, high * 1.08, start, stop, false};
  for (const double value : places) {
    if (axis.ticks.empty() || axis.at(value) - axis.at(axis.ticks.back()) >= kNearestTicks) {
      axis.ticks.push_back(value);
    }
  }
  return axis;
}

double apart(const Chart& chart, const ChartAxis& places) {
  constexpr double kMost = 9;
  if (!chart.ideal || chart.series.size() < 2) return 0;
  double nearest = places.stop - places.start;
  const std::vector<double> values = places_of(chart);
  for (std::size_t i = 1; i < values.size(); ++i) {
    nearest = std::min(nearest, places.at(values[i]) - places.at(values[i - 1]));
  }
  return std::min(kMost, nearest / 2 / static_cast<double>(chart.series.size()));
}

}  // namespace headroom::report
