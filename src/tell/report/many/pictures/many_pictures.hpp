// Which pictures there are of several machines.
#pragma once

#include <vector>

#include "across/overview.hpp"
#include "report/many/pictures/chart.hpp"

namespace headroom::report {

/// Time and share of the roof against heads, precisions, caches; those with nothing to draw are
/// left out.
std::vector<Chart> many_charts(const across::Overview& overview);

}  // namespace headroom::report
