// Two results folders side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "judge/compare.hpp"

namespace headroom::show {

/// Where a side comes from: its folder, the revision of its program, and when it was measured.
std::string source_of(const record::ResultsFolder& folder);

/// The time of a side's cell, its status without one, or `-` without the cell.
std::string time_or_status(const record::CellResult* result);

/// For people: one row per cell, and a summary.
std::string comparison_table(const judge::FolderComparison& comparison);

/// The last of these lines: how many cells, how they were judged, and what gates.
std::string comparison_summary(const judge::FolderComparison& comparison);

/// For programs: schema `headroom.compare/1`.
nlohmann::ordered_json to_json(const judge::FolderComparison& comparison);

}  // namespace headroom::show
