// Pictures with a line for each machine: over sizes of a shape, and over threads.
#pragma once

#include <vector>

#include "across/overview.hpp"
#include "report/many/pictures/chart.hpp"

namespace headroom::report {

/// Time, and share of each machine's own roof, by the number of heads, of tokens, and of tokens
/// that came before.
void add_sizes(std::vector<Chart>& charts, const across::Overview& overview);

/// The speed-up over one thread, beside the ideal one.
void add_threads(std::vector<Chart>& charts, const across::Overview& overview);

}  // namespace headroom::report
