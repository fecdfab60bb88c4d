// A field of a table of comma-separated values.
#pragma once

#include <string>

namespace headroom::show {

/// As RFC 4180 has it, as it may be shown, and so that no spreadsheet takes it for a formula.
std::string csv_field(const std::string& text);

}  // namespace headroom::show
