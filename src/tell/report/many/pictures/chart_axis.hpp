// From values of a picture to pixels.
#pragma once

#include <vector>

#include "report/many/pictures/chart_data.hpp"

namespace headroom::report {

/// One axis in pixels.
struct ChartAxis {
  double from = 0, to = 1;     ///< values
  double start = 0, stop = 1;  ///< pixels
  bool linear = false;
  std::vector<double> ticks = {};

  double at(double value) const;
};

/// Ticks nearer than this, in pixels, would write over each other.
inline constexpr double kNearestTicks = 34;

/// That of the values, with their intervals.
ChartAxis value_axis(const Chart& chart, double start, double stop);

/// That of what the values are drawn over: a tick for each that was measured, where there is room.
ChartAxis places_axis(const Chart& chart, double start, double stop);

/// By how many pixels series stand beside each other, so that marks of one place do not hide each
/// other; 0 where values are not drawn beside an ideal.
double apart(const Chart& chart, const ChartAxis& places);

}  // namespace headroom::report
