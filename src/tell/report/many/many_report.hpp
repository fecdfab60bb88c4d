// headroom report of several folders: a page, a Markdown file with pictures, and a table.
#pragma once

#include <filesystem>

#include "across/overview.hpp"

namespace headroom::report {

/// Writes `index.html`, `report.md`, `pictures/` and `results.csv`.
/// @return the page
/// @throws as `write_report`.
std::filesystem::path write_many(const across::Overview& overview,
                                 const std::filesystem::path& out);

}  // namespace headroom::report
