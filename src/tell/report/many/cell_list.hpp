// Every cell of every folder, as few bytes as may be: a store has ten thousand.
#pragma once

#include <string>

#include "across/overview.hpp"

namespace headroom::report {

/// A table for each shape, which unfolds.
std::string cell_list(const across::Overview& overview);

}  // namespace headroom::report
