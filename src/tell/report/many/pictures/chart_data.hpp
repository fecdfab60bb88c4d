// What a picture of several machines shows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "statistics/intervals.hpp"

namespace headroom::report {

/// A figure of one cell.
struct Mark {
  double x = 0;  ///< above 0; of a picture with rows the value, else what it is drawn over
  double y = 0;  ///< the value; of a picture with rows the index of the row
  statistics::Interval ci95;  ///< of the value; both 0: unknown
  std::string cell;           ///< its id
  std::string words;          ///< the value as people read it, such as `"1.53 ms"`
};

/// More looks than these nobody can tell apart.
inline constexpr std::size_t kMostSeries = 10;

/// Marks of one look.
struct Series {
  std::string name;
  std::vector<Mark> marks;
  std::size_t look = 0;  ///< colour and shape, below `kMostSeries`; of a machine in every picture
};

enum class ChartUnit {
  seconds,
  ratio,  ///< beside 1
  share,  ///< from 0 on; the other axes are logarithmic
};

struct Chart {
  std::string name;   ///< of its file, such as `"time-by-heads"`
  std::string title;  ///< what it shows
  std::string note = {};
  std::string x_head = {}, y_head = {};
  ChartUnit unit = ChartUnit::seconds;
  /// If there are any, values go to the right, one row below another.
  std::vector<std::string> rows = {};
  std::vector<Series> series = {};  ///< at most `kMostSeries`
  /// From 1 at 1 on, beside a line on which the value is what it is drawn over.
  bool ideal = false;

  bool empty() const { return series.empty(); }
};

}  // namespace headroom::report
