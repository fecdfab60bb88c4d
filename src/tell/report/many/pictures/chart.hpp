// Pictures of several machines as SVG without a script: each mark says what it shows.
#pragma once

#include <string>

#include "report/many/pictures/chart_data.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// @param alone with its own colours, for a file beside `report.md`; else they are those of the
///        page
std::string svg(const Chart& chart, bool alone);

/// Every figure of the picture.
Table table_of(const Chart& chart);

}  // namespace headroom::report
