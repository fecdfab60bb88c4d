// What a bisection found.
#pragma once

#include <string>

#include "bisect/bisect.hpp"

namespace headroom::show {

/// The cells that became slower, each commit that was asked about, and the answer.
std::string bisect_table(const bisect::Outcome& outcome);

}  // namespace headroom::show
