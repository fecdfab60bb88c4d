// A table of prose for a terminal.
#pragma once

#include <string>

#include "report/words/prose.hpp"

namespace headroom::report {

/// Columns side by side, numbers to the right; empty without rows.
std::string text_table(const Table& table);

}  // namespace headroom::report
