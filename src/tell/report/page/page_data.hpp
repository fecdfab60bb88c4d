// The data behind the charts: the raw lines, and the findings that only the program may state.
#pragma once

#include <string>
#include <string_view>

#include "report/findings/findings.hpp"

namespace headroom::report {

/// JSON of schema `headroom.report/1`: `environment`, `results` (the text of `results.jsonl`, one
/// line per cell), `order` (places of the cells in the order of the axes), `shapes` (the name of
/// each cell's shape), `findings` (one per cell: its comparisons as
/// `[ratio, low, high, verdict]`, flops per byte, share of its limit, cores where they
/// were fewer than its threads), `peers` (the names of other libraries), `noise_floor`,
/// `margin` and `focus`.
/// @param focus name of the shape to show first; empty for the one with the most cells
std::string page_data(const Findings& findings, std::string_view focus = {});

}  // namespace headroom::report
