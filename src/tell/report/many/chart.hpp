// Pictures of several machines as SVG without a script: each mark says what it shows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/words/prose.hpp"
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

/// Marks of one look.
struct Series {
  std::string name;
  std::vector<Mark> marks;
};

struct Chart {
  std::string name;   ///< of its file, such as `"time-by-heads"`
  std::string title;  ///< what it shows
  std::string note;
  std::string x_head, y_head;
  bool share = false;  ///< the value is a share, from 0 on; else the axis is logarithmic
  std::vector<std::string>
      rows;                    ///< if there are any, values go to the right, one row below another
  std::vector<Series> series;  ///< at most `kMostSeries`

  bool empty() const { return series.empty(); }
};

/// More looks than these nobody can tell apart.
inline constexpr std::size_t kMostSeries = 10;

/// @param alone with its own colours, for a file beside `report.md`; else they are those of the
///        page
std::string svg(const Chart& chart, bool alone);

/// Every figure of the picture.
Table table_of(const Chart& chart);

}  // namespace headroom::report
