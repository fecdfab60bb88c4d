// What the charts draw from: the raw lines, and beside them what only the program may say.
#pragma once

#include <string>
#include <string_view>

#include "report/findings/findings.hpp"

namespace headroom::report {

/// JSON of schema `headroom.report/1`: `environment`, `results` (the text of `results.jsonl`, cell
/// by cell), `order` (places of the cells in the order of the axes), `shapes` (the name of each
/// cell's shape), `findings` (one a cell: its
/// comparisons as `[ratio, low, high, verdict]`, flops for each byte, share of its limit), and
/// `noise_floor` and `margin`.
std::string page_data(const Findings& findings);

/// Deflated (RFC 1950) and in base 64, which no text of a file can break out of.
std::string packed(std::string_view text);

}  // namespace headroom::report
