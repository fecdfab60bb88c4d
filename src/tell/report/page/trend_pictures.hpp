// The small pictures of a trend.
#pragma once

#include <string>

#include "trend/trend.hpp"

namespace headroom::report {

/// A cell on one machine as a figure: its times over the versions, levels, and steps.
std::string trend_figure(const trend::MachineTrend& machine, const trend::Series& series,
                         double margin);

/// The same as an item of a list, small enough for thousands of them.
std::string trend_spark(const trend::MachineTrend& machine, const trend::Series& series,
                        double margin);

}  // namespace headroom::report
