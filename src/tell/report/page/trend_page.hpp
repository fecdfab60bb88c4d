// The results of many versions as a page.
#pragma once

#include <string>

#include "trend/trend.hpp"

namespace headroom::report {

/// One self-contained HTML file without scripts, below 4 MiB however many cells there are: the
/// steps in a table, a picture of each cell that changed, and the level cells folded away. What
/// there is no room for is counted.
std::string trend_page(const trend::Trend& trend);

}  // namespace headroom::report
